/* The attention of the back end on the pages of a cache, without the cache: no storing, no transforms, no parts, no ring. The difference is what the cache costs. */
#include "attn.h"
#include "../cache/cache_impl.h"
#include <math.h>
#include <string.h>

typedef struct run {
    const ingot_cache *c;
    const cache_layer *l;
    const worker *w;
    int head;
    const float *q;
} run;

/* Positions [from, to) counted from the first of n_pages tiles that lie in w->tiles. */
static void attend(const run *r, bool exact, int n_pages, int from, int to) {
    const cache_layer *l = r->l;
    *r->w->lo = from, *r->w->hi = to;
    const ingot_attend_args a = {
        .k = exact ? l->exact_fmt[0] : l->side[0][r->head].fmt, .v = exact ? l->exact_fmt[1] : l->side[1][r->head].fmt, .tiles = r->w->tiles,
        .v_offset = exact ? l->exact_v_offset : l->v_offset, .n_pages = n_pages, .q = r->q, .q_token_stride = (ptrdiff_t)l->n_group * l->shape.k_dim, .n_tokens = 1,
        .n_group = l->n_group, .lo = r->w->lo, .hi = r->w->hi, .scale = l->shape.scale, .fast = r->c->plan.fast_attention, .m = r->w->m, .l = r->w->l, .o = r->w->o, .scratch = r->w->attend,
    };
    if (from < to) r->c->backend->attend(&a);
}

static void attend_head(const run *r) {
    const ingot_cache *c = r->c;
    const segment *s = &c->segments[0];
    const int end = s->packed_to, sinks = min_int(c->n_sinks, s->first), first = sinks / PAGE, page_end = div_up(end, PAGE);
    for (int i = 0; i < r->l->n_group; i++) r->w->m[i] = -INFINITY, r->w->l[i] = 0;
    memset(r->w->o, 0, sizeof(float) * (size_t)r->l->n_group * (size_t)r->l->shape.v_dim);
    for (int p = 0; p < div_up(sinks, PAGE); p++) r->w->tiles[p] = ingot_cache_sink_tile(c, r->l, 0, r->head, p);
    attend(r, true, div_up(sinks, PAGE), 0, sinks);
    for (int p = first; p < page_end; p++) r->w->tiles[p - first] = ingot_cache_packed_tile(c, r->l, 0, r->head, p);
    attend(r, false, page_end - first, sinks - first * PAGE, end - first * PAGE);
    if (!c->ring_pages) return;
    const int ring = max_int(end, sinks), ring_page = ring / PAGE, ring_end = div_up(s->first, PAGE);
    for (int p = ring_page; p < ring_end; p++) r->w->tiles[p - ring_page] = ingot_cache_ring_tile(c, r->l, 0, r->head, p);
    attend(r, true, ring_end - ring_page, ring - ring_page * PAGE, s->first - ring_page * PAGE);
    r->w->tiles[0] = ingot_cache_batch_tile(c, r->l, s, r->head, 0);
    attend(r, true, 1, 0, 1);
}

void ingot_bench_attn_kernel(const ingot_team *team, void *arg) {
    const attn_kernel *k = arg;
    run r = {.c = k->cache, .l = &k->cache->layers[k->layer], .w = &k->cache->workers[team->rank]};
    for (r.head = 0; r.head < r.l->shape.n_kv_heads; r.head++) {
        r.q = k->job->q + (ptrdiff_t)(r.head * r.l->n_group) * r.l->shape.k_dim;
        attend_head(&r);
    }
}
