/* What the cache holds, in bytes that were really reserved and used. */
#include "cache_impl.h"

static size_t exact_pages_used(const ingot_cache *c, const cache_seq *s) {
    return (size_t)(min_int(c->ring_pages, div_up(s->n_tokens, PAGE)) + div_up(min_int(c->n_sinks, s->n_tokens), PAGE));
}

static size_t packed_bytes(const ingot_cache *c) {
    size_t bytes = 0;
    for (int g = 0; g < c->n_groups; g++) bytes += (size_t)(c->groups[g].n_pages - c->groups[g].n_free) * c->groups[g].page_bytes;
    return bytes;
}

static size_t exact_bytes(const ingot_cache *c) {
    size_t bytes = 0, exact_pages = 0, n_open = 0;
    for (int i = 0; i < c->max_seqs; i++) n_open += c->seqs[i].open;
    for (int i = 0; i < c->max_seqs; i++)
        if (c->seqs[i].open && (c->ring_pages || c->n_sinks)) exact_pages += exact_pages_used(c, &c->seqs[i]);
    for (int i = 0; i < c->n_layers; i++) {
        const cache_layer *l = &c->layers[i];
        bytes += exact_pages * l->exact_page_bytes;
        if (l->ring_scores) bytes += n_open * sizeof(float) * (size_t)(c->ring_pages * PAGE * l->shape.n_kv_heads);
        if (l->centred) bytes += n_open * sizeof(float) * (size_t)l->shape.n_kv_heads * (size_t)l->shape.k_dim;
    }
    return bytes;
}

/* Tokens of one sequence that group g keeps; a token on a page that r sequences share counts 1/r. */
static double tokens_held(const ingot_cache *c, int g, int seq) {
    const cache_seq *s = &c->seqs[seq];
    const int sliding = c->groups[g].sliding;
    if (g == c->evict_group)
        return min_int(c->n_sinks, s->n_tokens) + max_int(s->n_slots - (c->n_sinks - c->slot_base), 0) + s->n_tokens - max_int(s->packed_end, min_int(c->n_sinks, s->n_tokens));
    const int lo = sliding && s->n_tokens > sliding ? s->n_tokens - sliding : 0;
    double n = 0;
    for (int p = lo; p < s->n_tokens;) {
        const int end = min_int(s->n_tokens, (p / PAGE + 1) * PAGE);
        const bool paged = p / PAGE >= s->lo_page[g] && p / PAGE < ingot_cache_hi_page(c, g, s->packed_end, 0);
        n += (double)(end - p) / (paged ? c->groups[g].refs[*ingot_cache_page_entry(c, g, seq, p / PAGE)] : 1);
        p = end;
    }
    return n;
}

/* Tokens that a sequence holds where sliding windows do not matter; in caches that have such layers only, what the widest keeps. */
static int count_held(const ingot_cache *c, int seq) {
    int widest = 0;
    if (c->evict_group >= 0) return (int)tokens_held(c, c->evict_group, seq);
    for (int g = 0; g < c->n_groups; g++) {
        const int sliding = c->groups[g].sliding;
        widest = max_int(widest, sliding ? min_int(sliding, c->seqs[seq].n_tokens) : c->seqs[seq].n_tokens);
    }
    return widest;
}

void ingot_cache_memory_get(const ingot_cache *c, ingot_cache_memory *out) {
    double elements = 0;
    *out = (ingot_cache_memory){.resident_bytes = c->table_bytes + packed_bytes(c) + exact_bytes(c), .exact_bytes = exact_bytes(c), .capacity_bytes = c->kv_bytes + c->table_bytes,
                                .method_bytes = c->method_bytes};
    for (int i = 0; i < c->max_seqs; i++)
        if (c->seqs[i].open) out->n_tokens += count_held(c, i), out->n_positions += c->seqs[i].n_tokens;
    for (int g = 0; g < c->n_groups; g++) {
        double tokens = 0;
        for (int i = 0; i < c->max_seqs; i++)
            if (c->seqs[i].open) tokens += tokens_held(c, g, i);
        for (int i = 0; i < c->n_layers; i++) {
            const ingot_layer_shape *s = &c->layers[i].shape;
            if (c->layers[i].group == g) elements += tokens * s->n_kv_heads * (s->k_dim + s->v_dim);
        }
    }
    out->elements = (uint64_t)(elements + 0.5);
    out->f16_bytes = (size_t)(out->elements * 2);
}

const ingot_plan *ingot_cache_plan(const ingot_cache *c) { return &c->plan; }
