/* Steps: which tokens come, which pages they need, and taking both or neither. */
#include "cache_impl.h"
#include "../base/error.h"

/* Segments in order of first appearance, and the batch rows of each in order. */
static void split_batch(ingot_cache *c, const int *seqs, int n) {
    c->n_segments = 0;
    c->n_rows = n;
    for (int i = 0; i < c->max_seqs; i++) c->seg_of[i] = -1;
    for (int i = 0; i < n; i++) {
        if (c->seg_of[seqs[i]] < 0) {
            c->seg_of[seqs[i]] = c->n_segments;
            c->segments[c->n_segments++] = (segment){.seq = seqs[i], .first = c->seqs[seqs[i]].n_tokens};
        }
        c->segments[c->seg_of[seqs[i]]].n++;
    }
    int row = 0;
    for (int i = 0; i < c->n_segments; i++) {
        c->segments[i].row = row;
        row += c->segments[i].n;
        c->segments[i].n = 0;
    }
    for (int i = 0; i < n; i++) {
        segment *s = &c->segments[c->seg_of[seqs[i]]];
        c->order[s->row + s->n++] = i;
    }
}

static void plan_segments(ingot_cache *c) {
    int batch_page = 0, part_row = 0;
    c->any_splits = c->any_means = false;
    for (int i = 0; i < c->n_segments; i++) {
        segment *s = &c->segments[i];
        s->contiguous = c->order[s->row + s->n - 1] - c->order[s->row] == s->n - 1;
        s->packed_from = c->seqs[s->seq].packed_end;
        s->packed_to = max_int(s->packed_from, ingot_cache_pack_end(c, s->first + s->n));
        s->slots_from = s->slots_to = c->seqs[s->seq].n_slots;
        if (c->evict_group >= 0) s->slots_to += max_int(s->packed_to, c->slot_base) - max_int(s->packed_from, c->slot_base);
        s->finds_mean = c->hold && s->packed_from == 0 && s->packed_to > 0;
        c->any_means |= s->finds_mean;
        s->batch_page = batch_page;
        batch_page += div_up(s->n, PAGE);
        s->max_splits = ingot_cache_max_splits(s->n);
        s->part_row = part_row;
        if (s->max_splits > 1) part_row += s->n * s->max_splits, c->any_splits = true;
    }
}

/* Id of the page that a segment goes on writing, or -1 when it starts a new one. */
static int32_t continued_page(const ingot_cache *c, int g, const segment *s) {
    if (g == c->evict_group) return -1; /* never shared */
    if (s->packed_from <= c->n_sinks || s->packed_from % PAGE == 0 || s->packed_to == s->packed_from) return -1;
    return *ingot_cache_page_entry(c, g, s->seq, s->packed_from / PAGE);
}

/* Whether segment i needs a copy of the page that it continues, once `ahead` segments have taken theirs. */
static bool needs_copy(const ingot_cache *c, int g, int i, int ahead) {
    const int32_t id = continued_page(c, g, &c->segments[i]);
    if (id < 0) return false;
    int refs = c->groups[g].refs[id];
    for (int e = 0; refs > 1 && e < ahead; e++) refs -= continued_page(c, g, &c->segments[e]) == id;
    return refs > 1;
}

static int held_tokens(const ingot_cache *c) {
    int n = 0;
    for (int i = 0; i < c->max_seqs; i++) n += c->seqs[i].open ? c->seqs[i].n_tokens : 0;
    return n;
}

static ingot_status check_room(const ingot_cache *c, int n) {
    for (int g = 0; g < c->n_groups; g++) {
        int wanted = 0;
        for (int i = 0; i < c->n_segments; i++) {
            const segment *s = &c->segments[i];
            if (!c->groups[g].sliding && s->n > c->max_tokens - s->first)
                return ingot_fail(INGOT_E_FULL, "the cache is full: a sequence holds %d tokens and %d more were wanted; there is room for %d", s->first, s->n, c->max_tokens);
            wanted += ingot_cache_hi_page(c, g, s->packed_to, s->slots_to) - ingot_cache_hi_page(c, g, s->packed_from, s->slots_from);
            wanted += needs_copy(c, g, i, i);
        }
        if (wanted > c->groups[g].n_free)
            return ingot_fail(INGOT_E_FULL, "the cache is full: it holds %d tokens and %d more were wanted; there is room for %d (%d pages free, %d wanted)",
                              held_tokens(c), n, c->max_tokens, c->groups[g].n_free, wanted);
    }
    return INGOT_OK;
}

static void take_pages(ingot_cache *c) {
    for (int g = 0; g < c->n_groups; g++)
        for (int i = 0; i < c->n_segments; i++) {
            const segment *s = &c->segments[i];
            if (needs_copy(c, g, i, 0)) ingot_cache_page_unshare(c, g, s->seq, s->packed_from / PAGE);
            ingot_cache_pages_take(c, g, s->seq, ingot_cache_hi_page(c, g, s->packed_from, s->slots_from), ingot_cache_hi_page(c, g, s->packed_to, s->slots_to));
        }
}

static ingot_status check_batch(const ingot_cache *c, const int *seqs, int n) {
    if (c->in_step) return ingot_fail(INGOT_E_INVALID, "a step was begun while another runs");
    if (n < 1 || n > c->max_batch) return ingot_fail(INGOT_E_INVALID, "a step of %d tokens; 1 to %d are possible", n, c->max_batch);
    for (int i = 0; i < n; i++)
        if (seqs[i] < 0 || seqs[i] >= c->max_seqs || !c->seqs[seqs[i]].open)
            return ingot_fail(INGOT_E_INVALID, "token %d of the step: sequence %d is not open", i, seqs[i]);
    return INGOT_OK;
}

ingot_status ingot_cache_step_begin(ingot_cache *c, const int *seqs, int n, int *positions) {
    INGOT_TRY(check_batch(c, seqs, n));
    split_batch(c, seqs, n);
    plan_segments(c);
    INGOT_TRY(check_room(c, n));
    take_pages(c);
    for (int i = 0; i < c->n_segments; i++) {
        const segment *s = &c->segments[i];
        c->seqs[s->seq].in_step = true;
        for (int t = 0; positions && t < s->n; t++) positions[c->order[s->row + t]] = s->first + t;
    }
    for (int i = 0; i < c->n_layers; i++) c->layers[i].done = false;
    atomic_store(&c->bad, NO_BAD);
    c->in_step = true;
    return INGOT_OK;
}

static void leave_step(ingot_cache *c) {
    for (int i = 0; i < c->n_segments; i++) c->seqs[c->segments[i].seq].in_step = false;
    c->in_step = false;
    c->n_segments = 0;
    atomic_store(&c->bad, NO_BAD);
}

static bool all_done(const ingot_cache *c) {
    for (int i = 0; i < c->n_layers; i++)
        if (!c->layers[i].done) return false;
    return true;
}

void ingot_cache_step_end(ingot_cache *c) {
    if (!c->in_step) return;
    if (!all_done(c)) {
        ingot_cache_step_cancel(c);
        return;
    }
    for (int i = 0; i < c->n_segments; i++) {
        const segment *s = &c->segments[i];
        cache_seq *seq = &c->seqs[s->seq];
        seq->n_tokens = s->first + s->n;
        seq->packed_end = s->packed_to;
        seq->n_slots = s->slots_to;
        for (int g = 0; g < c->n_groups; g++) {
            const int page = ingot_cache_needed_page(c, g, seq->n_tokens, seq->packed_end);
            if (page <= seq->lo_page[g]) continue;
            ingot_cache_pages_drop(c, g, s->seq, seq->lo_page[g], page);
            seq->lo_page[g] = page;
        }
    }
    if (c->evict_group >= 0) ingot_cache_evict(c);
    leave_step(c);
}

/* The rings of layers that ran have taken new tokens over old ones. Those are packed in these layers, and go back as what they decode to. */
static void restore_rings(ingot_cache *c, const segment *s) {
    const int lost_end = min_int(s->first, s->first + s->n - c->ring_pages * PAGE);
    for (int i = 0; c->ring_pages && i < c->n_layers; i++)
        if (c->layers[i].done) ingot_cache_unpack(c, &c->layers[i], s->seq, s->packed_from, lost_end, ingot_cache_slot_shift(&c->layers[i], s, c), &c->workers[0]);
}

void ingot_cache_step_cancel(ingot_cache *c) {
    if (!c->in_step) return;
    for (int i = 0; i < c->n_segments; i++) {
        const segment *s = &c->segments[i];
        restore_rings(c, s);
        for (int g = 0; g < c->n_groups; g++)
            ingot_cache_pages_drop(c, g, s->seq, ingot_cache_hi_page(c, g, s->packed_from, s->slots_from), ingot_cache_hi_page(c, g, s->packed_to, s->slots_to));
    }
    leave_step(c);
}
