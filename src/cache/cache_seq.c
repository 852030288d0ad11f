/* Sequences: open, close, fork, trim. */
#include "cache_impl.h"
#include "../base/error.h"
#include <string.h>

static ingot_status check_open(const ingot_cache *c, int seq) {
    if (seq < 0 || seq >= c->max_seqs || !c->seqs[seq].open) return ingot_fail(INGOT_E_INVALID, "sequence %d is not open", seq);
    if (c->seqs[seq].in_step) return ingot_fail(INGOT_E_INVALID, "sequence %d is in a running step", seq);
    return INGOT_OK;
}

static void reset(ingot_cache *c, cache_seq *s) {
    s->n_tokens = s->packed_end = s->n_slots = 0;
    s->evicted = false;
    for (int g = 0; g < c->n_groups; g++) s->lo_page[g] = ingot_cache_hi_page(c, g, 0, 0);
}

ingot_status ingot_cache_seq_open(ingot_cache *c, int *seq) {
    *seq = -1;
    for (int i = 0; i < c->max_seqs; i++) {
        if (c->seqs[i].open) continue;
        c->seqs[i].open = true;
        reset(c, &c->seqs[i]);
        *seq = i;
        return INGOT_OK;
    }
    return ingot_fail(INGOT_E_FULL, "all %d sequences of the cache are open", c->max_seqs);
}

/* Drops all pages that the first `packed_end` packed positions, or `n_slots` slots, do not need. */
static void drop_tail(ingot_cache *c, int seq, int packed_end, int n_slots) {
    const cache_seq *s = &c->seqs[seq];
    for (int g = 0; g < c->n_groups; g++)
        ingot_cache_pages_drop(c, g, seq, max_int(s->lo_page[g], ingot_cache_hi_page(c, g, packed_end, n_slots)), ingot_cache_hi_page(c, g, s->packed_end, s->n_slots));
}

void ingot_cache_seq_close(ingot_cache *c, int seq) {
    if (seq < 0 || seq >= c->max_seqs || !c->seqs[seq].open || c->seqs[seq].in_step) return;
    drop_tail(c, seq, 0, 0);
    c->seqs[seq].open = false;
}

int ingot_cache_seq_tokens(const ingot_cache *c, int seq) {
    return seq >= 0 && seq < c->max_seqs && c->seqs[seq].open ? c->seqs[seq].n_tokens : 0;
}

/* Slots of a sequence that keeps its first `packed_end` packed positions. Only whole sequences or none at all once something was evicted. */
static int prefix_slots(const ingot_cache *c, int seq, int packed_end) {
    const cache_seq *s = &c->seqs[seq];
    return c->evict_group < 0 ? 0 : packed_end == s->packed_end ? s->n_slots : max_int(packed_end - c->slot_base, 0);
}

/* What of the first n tokens of seq stays packed: whole blocks. */
static int prefix_packed_end(const ingot_cache *c, int seq, int n) {
    return min_int(n, c->seqs[seq].packed_end) / c->block_tokens * c->block_tokens;
}

/* Whether the first n tokens of seq are enough to go on from. */
static ingot_status check_prefix(const ingot_cache *c, int seq, int n) {
    const cache_seq *s = &c->seqs[seq];
    if (n < 0 || n > s->n_tokens) return ingot_fail(INGOT_E_INVALID, "the first %d tokens of a sequence that holds %d", n, s->n_tokens);
    const int packed_end = prefix_packed_end(c, seq, n);
    if (s->evicted && n && n < s->n_tokens)
        return ingot_fail(INGOT_E_INVALID, "the first %d of %d tokens: %s has evicted tokens since", n, s->n_tokens, c->policy->name);
    for (int g = 0; n && g < c->n_groups; g++)
        if (ingot_cache_needed_page(c, g, n, packed_end) < min_int(s->lo_page[g], ingot_cache_hi_page(c, g, packed_end, s->n_slots)))
            return ingot_fail(INGOT_E_INVALID, "the first %d of %d tokens: layers with a sliding window of %d have dropped what position %d needs",
                              n, s->n_tokens, c->groups[g].sliding, n);
    return INGOT_OK;
}

/* Tokens of a block that is no longer whole go into the ring as what they decode to: the block will be packed anew. */
static void unpack_rest(ingot_cache *c, int seq, int from, int to) {
    for (int i = 0; from < to && i < c->n_layers; i++) ingot_cache_unpack(c, &c->layers[i], seq, from, to, c->layers[i].evicts ? -c->slot_base : 0, &c->workers[0]);
}

static void keep_packed(ingot_cache *c, int seq, int packed_end, int n_slots) {
    cache_seq *s = &c->seqs[seq];
    drop_tail(c, seq, packed_end, n_slots);
    s->packed_end = packed_end;
    s->n_slots = n_slots;
    for (int g = 0; g < c->n_groups; g++) s->lo_page[g] = min_int(s->lo_page[g], ingot_cache_hi_page(c, g, packed_end, n_slots));
}

ingot_status ingot_cache_trim(ingot_cache *c, int seq, int n_tokens) {
    INGOT_TRY(check_open(c, seq));
    INGOT_TRY(check_prefix(c, seq, n_tokens));
    cache_seq *s = &c->seqs[seq];
    const int packed_end = prefix_packed_end(c, seq, n_tokens), n_slots = prefix_slots(c, seq, packed_end);
    unpack_rest(c, seq, packed_end, min_int(n_tokens, s->packed_end));
    keep_packed(c, seq, packed_end, n_slots);
    s->n_tokens = n_tokens;
    s->evicted &= n_tokens > 0;
    return INGOT_OK;
}

/* Pages that hold packed positions below `packed_end`, or all slots. Those of layers that evict change in place: they are copied. */
static void share_pages(ingot_cache *c, int from, int to, int packed_end) {
    for (int g = 0; g < c->n_groups; g++) {
        const int hi = ingot_cache_hi_page(c, g, packed_end, c->seqs[from].n_slots), lo = min_int(c->seqs[from].lo_page[g], hi);
        c->seqs[to].lo_page[g] = lo;
        for (int page = lo; page < hi; page++) {
            const int32_t id = *ingot_cache_page_entry(c, g, from, page);
            *ingot_cache_page_entry(c, g, to, page) = id;
            c->groups[g].refs[id]++;
            if (g == c->evict_group) ingot_cache_page_unshare(c, g, to, page);
        }
    }
}

/* Exact rings, sinks and means belong to one sequence: they are copied. */
static void copy_exact(ingot_cache *c, int from, int to) {
    const size_t pages = (size_t)(c->ring_pages + c->sink_pages);
    for (int i = 0; i < c->n_layers; i++) {
        const cache_layer *l = &c->layers[i];
        const size_t bytes = pages * l->exact_page_bytes, mean = sizeof(float) * (size_t)l->shape.n_kv_heads * (size_t)l->shape.k_dim;
        if (pages) memcpy(l->exact + (size_t)to * bytes, l->exact + (size_t)from * bytes, bytes);
        if (l->ring_scores)
            memcpy(ingot_cache_ring_score(c, l, to, 0, 0), ingot_cache_ring_score(c, l, from, 0, 0), sizeof(float) * (size_t)(c->ring_pages * PAGE * l->shape.n_kv_heads));
        if (l->centred) memcpy(ingot_cache_mean(c, l, to, 0), ingot_cache_mean(c, l, from, 0), mean);
    }
}

ingot_status ingot_cache_seq_fork(ingot_cache *c, int *seq, int from, int n_tokens) {
    *seq = -1;
    INGOT_TRY(check_open(c, from));
    INGOT_TRY(check_prefix(c, from, n_tokens));
    if (c->evict_group >= 0 && c->groups[c->evict_group].n_free < div_up(c->seqs[from].n_slots, PAGE))
        return ingot_fail(INGOT_E_FULL, "the cache is full: %d pages are free, a copy of the sequence needs %d", c->groups[c->evict_group].n_free, div_up(c->seqs[from].n_slots, PAGE));
    INGOT_TRY(ingot_cache_seq_open(c, seq));
    cache_seq *s = &c->seqs[*seq];
    s->n_tokens = n_tokens;
    s->packed_end = min_int(n_tokens, c->seqs[from].packed_end);
    s->n_slots = c->seqs[from].n_slots;
    s->evicted = c->seqs[from].evicted && n_tokens > 0;
    share_pages(c, from, *seq, s->packed_end);
    copy_exact(c, from, *seq);
    const int whole = prefix_packed_end(c, from, n_tokens), n_slots = prefix_slots(c, from, whole);
    unpack_rest(c, *seq, whole, s->packed_end);
    keep_packed(c, *seq, whole, n_slots);
    return INGOT_OK;
}
