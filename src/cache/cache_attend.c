/* Phase 2 of a layer: attention of blocks of query tokens of one KV head. A block may be cut along the packed pages; its parts meet in
 * the merge. Each part goes over up to four runs of pages (sinks, packed, ring, batch) that continue one online softmax. */
#include "cache_impl.h"
#include <math.h>
#include <string.h>

/* A call of the back end costs as much as some 100 tokens. So parts are long, unless there are too few KV heads to keep UNITS threads busy. Thread counts play
 * no part: results are to be the same for all. */
enum { MIN_PAGES_PER_SPLIT = 4, PAGES_PER_SPLIT = 64, UNITS = 8, MAX_SPLITS = 16, TOKENS_FULL_SPLITS = 4 };

int ingot_cache_max_splits(int n_tokens) { return max_int(1, MAX_SPLITS / div_up(n_tokens, TOKENS_FULL_SPLITS)); }

int ingot_cache_max_part_rows(int max_seqs, int max_batch) {
    /* n * max_splits(n), where cut at all, is at most 16 n and at most 64. */
    const int segments = min_int(max_seqs, max_batch);
    return min_int(MAX_SPLITS * max_batch, MAX_SPLITS * TOKENS_FULL_SPLITS * segments);
}

/* One block of query tokens [i0, i0 + n) of a segment, and how its packed pages [page, page_end) are cut. */
typedef struct block {
    int i0, n;
    int page, page_end, per_split, n_splits;
} block;

/* What query position t sees: [lo, t], exact from `exact` on (sinks apart). */
static int visible_lo(const layer_job *j, int t) {
    const int sliding = j->l->shape.sliding_window;
    return sliding && t >= sliding ? t - sliding + 1 : 0;
}

static int exact_lo(const layer_job *j, const segment *s, int t) { return max_int(s->packed_from, ingot_cache_pack_end(j->c, t + 1)); }

static int packed_lo(const layer_job *j, int t) { return max_int(visible_lo(j, t), j->c->n_sinks); }

/* The packed slots that position t sees: [first, end). */
static int first_slot(const layer_job *j, int t) { return j->l->evicts ? j->c->n_sinks - j->c->slot_base : packed_lo(j, t); }

static int end_slot(const layer_job *j, const segment *s, int t) {
    const int end = exact_lo(j, s, t);
    return j->l->evicts ? max_int(end, max_int(s->packed_from, j->c->slot_base)) + ingot_cache_slot_shift(j->l, s, j->c) : end;
}

static block block_at(const layer_job *j, const segment *s, int index) {
    const int last = div_up(s->n, j->l->block) - 1;
    block b = {.i0 = (last - index) * j->l->block}; /* the longest first: they balance best */
    b.n = min_int(j->l->block, s->n - b.i0);
    const int t = s->first + b.i0, from = first_slot(j, t), to = end_slot(j, s, t + b.n - 1);
    if (from < to) b.page = from / PAGE, b.page_end = div_up(to, PAGE);
    const int pages = b.page_end - b.page;
    const int wanted = max_int(pages / PAGES_PER_SPLIT, min_int(pages / MIN_PAGES_PER_SPLIT, div_up(UNITS, j->l->shape.n_kv_heads)));
    b.n_splits = max_int(1, min_int(s->max_splits, wanted));
    b.per_split = max_int(1, div_up(pages, b.n_splits));
    b.n_splits = max_int(1, div_up(pages, b.per_split));
    return b;
}

/* Units of a segment: blocks x splits x heads, with max_splits for every block; those beyond a block's own are empty. */
int ingot_cache_attend_units(const layer_job *j, const segment *s) {
    return div_up(s->n, j->l->block) * s->max_splits * j->l->shape.n_kv_heads;
}

typedef struct state {
    float *m, *l, *o;
} state;

/* Partial states of one block: [split][head][rows]. */
static state part_state(const layer_job *j, const segment *s, const block *b, int split, int head) {
    const cache_layer *l = j->l;
    const size_t tokens = (size_t)(s->part_row + b->i0 * s->max_splits + split * b->n);
    const size_t row = (tokens * (size_t)l->shape.n_kv_heads + (size_t)(head * b->n)) * (size_t)l->n_group;
    return (state){j->c->part_m + row, j->c->part_l + row, j->c->part_o + row * (size_t)l->shape.v_dim};
}

typedef struct unit {
    const layer_job *j;
    const segment *s;
    block b;
    int head;
    worker *w;
    state to;
} unit;

/* Position of token i of the block. */
static int position(const unit *u, int i) { return u->s->first + u->b.i0 + i; }

static void find_shift(const ingot_attend_args *a, const float *mean, float *shift) {
    for (int r = 0; r < a->n_tokens * a->n_group; r++) {
        const float *q = a->q + r / a->n_group * a->q_token_stride + (ptrdiff_t)(r % a->n_group) * a->k.dim;
        double sum = 0;
        for (int i = 0; i < a->k.dim; i++) sum += (double)q[i] * (double)mean[i];
        shift[r] = (float)(sum * (double)a->scale);
    }
}

/* Attends on pages [page, page_end) of w->tiles (tile 0 = `page`); token i sees [w->lo[i], w->hi[i]) cut to them. */
static void attend_run(const unit *u, bool exact, int page, int page_end) {
    const ingot_cache *c = u->j->c;
    const cache_layer *l = u->j->l;
    bool any = false;
    for (int i = 0; i < u->b.n; i++) {
        const int lo = max_int(u->w->lo[i], page * PAGE), hi = min_int(u->w->hi[i], page_end * PAGE);
        u->w->lo[i] = lo < hi ? lo - page * PAGE : 0;
        u->w->hi[i] = lo < hi ? hi - page * PAGE : 0;
        any |= lo < hi;
    }
    if (!any) return;
    const int first = u->b.i0, k_dim = l->shape.k_dim, width = l->n_group * k_dim;
    const float *q = u->j->copy_q ? c->q_copy + (ptrdiff_t)(u->s->row + first) * l->shape.n_kv_heads * width
                                  : u->j->q + c->order[u->s->row + first] * u->j->q_stride;
    const ingot_attend_args a = {
        .k = exact ? l->exact_fmt[0] : l->side[0][u->head].fmt, .v = exact ? l->exact_fmt[1] : l->side[1][u->head].fmt,
        .tiles = u->w->tiles, .v_offset = exact ? l->exact_v_offset : l->v_offset, .n_pages = page_end - page,
        .q = q + (ptrdiff_t)u->head * width,
        .q_token_stride = u->j->copy_q ? (ptrdiff_t)l->shape.n_kv_heads * width : u->j->q_stride,
        .n_tokens = u->b.n, .n_group = l->n_group, .lo = u->w->lo, .hi = u->w->hi, .scale = l->shape.scale, .fast = c->plan.fast_attention,
        .m = u->to.m, .l = u->to.l, .o = u->to.o, .scratch = u->w->attend,
    };
    if (exact || !l->centred) {
        c->backend->attend(&a);
        return;
    }
    /* Packed keys lack the mean, so their scores lack <q, mean>: the state is taken to that frame and back. */
    find_shift(&a, ingot_cache_mean(c, l, u->s->seq, u->head), u->w->shift);
    for (int r = 0; r < a.n_tokens * a.n_group; r++) a.m[r] -= u->w->shift[r];
    c->backend->attend(&a);
    for (int r = 0; r < a.n_tokens * a.n_group; r++) a.m[r] += u->w->shift[r];
}

static void attend_sinks(const unit *u) {
    const ingot_cache *c = u->j->c;
    const int end = min_int(c->n_sinks, position(u, u->b.n - 1) + 1);
    if (visible_lo(u->j, position(u, 0)) >= end) return;
    for (int i = 0; i < u->b.n; i++) {
        u->w->lo[i] = visible_lo(u->j, position(u, i));
        u->w->hi[i] = min_int(end, position(u, i) + 1);
    }
    for (int p = 0; p < div_up(end, PAGE); p++) u->w->tiles[p] = ingot_cache_sink_tile(c, u->j->l, u->s->seq, u->head, p);
    attend_run(u, true, 0, div_up(end, PAGE));
}

static void attend_packed(const unit *u, int split) {
    const int page = u->b.page + split * u->b.per_split, page_end = min_int(page + u->b.per_split, u->b.page_end);
    if (page >= page_end) return;
    for (int i = 0; i < u->b.n; i++) {
        u->w->lo[i] = first_slot(u->j, position(u, i));
        u->w->hi[i] = end_slot(u->j, u->s, position(u, i));
    }
    ingot_cache_packed_tiles(u->j->c, u->j->l, u->s->seq, u->head, page, page_end, u->w->tiles);
    attend_run(u, false, page, page_end);
}

/* First position that token i of the block sees exact, sinks apart. */
static int exact_begin(const unit *u, int i) {
    return max_int(packed_lo(u->j, position(u, i)), exact_lo(u->j, u->s, position(u, i)));
}

static void attend_ring(const unit *u) {
    const int from = exact_begin(u, 0), end = u->s->first;
    if (from >= end) return;
    const int page = from / PAGE, page_end = div_up(end, PAGE);
    for (int i = 0; i < u->b.n; i++) u->w->lo[i] = exact_begin(u, i), u->w->hi[i] = end;
    for (int p = page; p < page_end; p++)
        u->w->tiles[p - page] = ingot_cache_ring_tile(u->j->c, u->j->l, u->s->seq, u->head, p);
    attend_run(u, true, page, page_end);
}

/* Token i of the segment lies in slot i of the batch's own numbering. */
static void attend_batch(const unit *u) {
    const int first = u->s->first, page = max_int(0, exact_begin(u, 0) - first) / PAGE, page_end = div_up(u->b.i0 + u->b.n, PAGE);
    for (int i = 0; i < u->b.n; i++) {
        u->w->lo[i] = max_int(0, exact_begin(u, i) - first);
        u->w->hi[i] = position(u, i) + 1 - first;
    }
    for (int p = page; p < page_end; p++)
        u->w->tiles[p - page] = ingot_cache_batch_tile(u->j->c, u->j->l, u->s, u->head, p);
    attend_run(u, true, page, page_end);
}

/* Divides by the sum, takes the transform back, and writes the block's rows of one head. */
static void finish(const layer_job *j, const segment *s, const block *b, int head, state from) {
    const int n_rows = b->n * j->l->n_group;
    if (j->l->evicts && j->c->policy->observers) { /* kept for those who look at attention weights */
        for (int r = 0; r < n_rows; r++) {
            const size_t at = (size_t)(s->row + b->i0 + r / j->l->n_group) * (size_t)j->l->shape.n_heads + (size_t)(head * j->l->n_group + r % j->l->n_group);
            j->c->row_m[at] = from.m[r], j->c->row_l[at] = from.l[r];
        }
    }
    const int dim = j->l->shape.v_dim, n_group = j->l->n_group;
    const ingot_transform_chain *chain = &j->l->side[INGOT_SIDE_V][head].chain;
    for (int r = 0; r < n_rows; r++) {
        const int row = j->c->order[s->row + b->i0 + r / n_group];
        float *out = j->out + row * j->out_stride + (ptrdiff_t)(head * n_group + r % n_group) * dim;
        j->c->backend->normalize(from.o + (ptrdiff_t)r * dim, from.l[r], out, dim);
        if (chain->n) ingot_chain_inverse(chain, out, out);
    }
}

static void clear(state to, int rows, int dim) {
    for (int r = 0; r < rows; r++) to.m[r] = -INFINITY, to.l[r] = 0.0f;
    memset(to.o, 0, sizeof(float) * (size_t)rows * (size_t)dim);
}

void ingot_cache_attend_unit(const layer_job *j, const segment *s, int index, worker *w) {
    const int heads = j->l->shape.n_kv_heads, split = index % s->max_splits, head = index / s->max_splits % heads;
    unit u = {j, s, block_at(j, s, index / s->max_splits / heads), head, w, {w->m, w->l, w->o}};
    if (split >= u.b.n_splits) return;
    if (u.b.n_splits > 1) u.to = part_state(j, s, &u.b, split, head);
    clear(u.to, u.b.n * j->l->n_group, j->l->shape.v_dim);
    if (split == 0) attend_sinks(&u);
    attend_packed(&u, split);
    if (split == u.b.n_splits - 1 && j->c->ring_pages) {
        attend_ring(&u);
        attend_batch(&u);
    }
    if (u.b.n_splits == 1) finish(j, s, &u.b, head, u.to);
}

int ingot_cache_merge_units(const layer_job *j, const segment *s) {
    return s->max_splits > 1 ? div_up(s->n, j->l->block) * j->l->shape.n_kv_heads : 0;
}

void ingot_cache_merge_unit(const layer_job *j, const segment *s, int index) {
    const int heads = j->l->shape.n_kv_heads, head = index % heads, dim = j->l->shape.v_dim;
    const block b = block_at(j, s, index / heads);
    if (b.n_splits == 1) return;
    const state to = part_state(j, s, &b, 0, head);
    for (int split = 1; split < b.n_splits; split++) {
        const state from = part_state(j, s, &b, split, head);
        for (int r = 0; r < b.n * j->l->n_group; r++)
            j->c->backend->merge(&to.m[r], &to.l[r], to.o + (ptrdiff_t)r * dim, from.m[r], from.l[r], from.o + (ptrdiff_t)r * dim, dim);
    }
    finish(j, s, &b, head, to);
}
