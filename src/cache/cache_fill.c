/* Long contexts for measurements: tokens come in without attention, whose cost would grow with the square of the length, and layers that are alike
 * are filled once and copied. */
#include "cache_impl.h"
#include "../base/error.h"
#include <string.h>

enum { FILL_BATCH = 512 };

static bool alike(const cache_layer *a, const cache_layer *b) {
    if (a->group != b->group || a->centred != b->centred || a->shape.n_kv_heads != b->shape.n_kv_heads || a->page_bytes != b->page_bytes) return false;
    for (int side = 0; side < N_SIDES; side++)
        if (a->side[side]->fmt.codec != b->side[side]->fmt.codec || a->side[side]->fmt.dim != b->side[side]->fmt.dim) return false;
    return true;
}

static ingot_status check(const ingot_cache *c, int n_rows) {
    if (n_rows < 1) return ingot_fail(INGOT_E_INVALID, "a cache was to be filled from %d rows", n_rows);
    if (c->evict_group >= 0) return ingot_fail(INGOT_E_INVALID, "a cache that evicts cannot be filled without attention");
    for (int i = 1; i < c->n_layers; i++)
        if (!alike(&c->layers[0], &c->layers[i])) return ingot_fail(INGOT_E_INVALID, "layer %d is not stored like layer 0", i);
    return INGOT_OK;
}

typedef struct batch {
    ingot_cache *c;
    const float *k, *v;
} batch;

static void store(const ingot_team *team, void *arg) {
    const batch *b = arg;
    const ingot_layer_shape *s = &b->c->layers[0].shape;
    const ptrdiff_t heads = s->n_kv_heads;
    ingot_cache_store_team(b->c, 0, b->k, heads * s->k_dim, b->v, heads * s->v_dim, team);
}

static ingot_status append(batch *b, int seq, int n) {
    int seqs[FILL_BATCH];
    for (int i = 0; i < n; i++) seqs[i] = seq;
    INGOT_TRY(ingot_cache_step_begin(b->c, seqs, n, NULL));
    ingot_pool_run(b->c->device->pool, store, b);
    const ingot_status s = ingot_cache_step_status(b->c);
    for (int i = 1; s == INGOT_OK && i < b->c->n_layers; i++) b->c->layers[i].done = true; /* they get copies when all is there */
    ingot_cache_step_end(b->c);
    return s;
}

/* The first layer's share of the cache. */
static void copy_layer(const ingot_cache *c, const cache_layer *to, const cache_layer *from) {
    memcpy(to->pages, from->pages, (size_t)ingot_cache_pages_bytes(&c->groups[from->group], from));
    memcpy(to->exact, from->exact, (size_t)c->max_seqs * (size_t)(c->ring_pages + c->sink_pages) * from->exact_page_bytes);
    if (from->centred) memcpy(to->means, from->means, sizeof(float) * (size_t)c->max_seqs * (size_t)from->shape.n_kv_heads * (size_t)from->shape.k_dim);
}

ingot_status ingot_cache_fill(ingot_cache *c, int seq, int n_tokens, const float *k, const float *v, int n_rows) {
    INGOT_TRY(check(c, n_rows));
    const ingot_layer_shape *shape = &c->layers[0].shape;
    const int most = min_int(c->max_batch, FILL_BATCH);
    for (int at = 0; at < n_tokens;) {
        const ptrdiff_t row = at % n_rows;
        const int n = min_int(min_int(most, n_tokens - at), n_rows - (int)row);
        batch b = {c, k + row * shape->n_kv_heads * shape->k_dim, v + row * shape->n_kv_heads * shape->v_dim};
        INGOT_TRY(append(&b, seq, n));
        at += n;
    }
    for (int i = 1; i < c->n_layers; i++) copy_layer(c, &c->layers[i], &c->layers[0]);
    return INGOT_OK;
}

void ingot_cache_touch(ingot_cache *c) { memset(c->kv_block, 0, c->kv_bytes); }

void ingot_cache_attended_bytes(const ingot_cache *c, int layer, int n, size_t *packed, size_t *exact) {
    const cache_layer *l = &c->layers[layer];
    const int sliding = l->shape.sliding_window, lo = sliding && n > sliding ? n - sliding : 0;
    const int begin = max_int(lo, c->n_sinks), n_packed = max_int(0, ingot_cache_pack_end(c, n) - begin);
    *packed = (size_t)n_packed * l->page_bytes / PAGE;
    *exact = (size_t)(n - lo - n_packed) * l->exact_page_bytes / PAGE;
}
