/* Phase 1 of a layer: new keys and values are checked and stored, queries are transformed. After attention: the ring takes the
 * newest tokens over from the batch's exact tiles. */
#include "cache_impl.h"
#include "../base/row_ops.h"
#include <string.h>

enum { QUERY_TOKENS = 16 };

static int batch_row(const layer_job *j, const segment *s, int token) { return j->c->order[s->row + token]; }

static int dim_of(const layer_job *j, int side) { return j->l->exact_fmt[side].dim; }

static const float *input_row(const layer_job *j, const segment *s, int side, int head, int position) {
    return j->x[side] + batch_row(j, s, position - s->first) * j->x_stride[side] + (ptrdiff_t)head * dim_of(j, side);
}

static void note_bad(const layer_job *j, int row, int head, int side) {
    const uint64_t key = (uint64_t)row << 32 | (uint64_t)head << 1 | (uint64_t)side;
    uint64_t seen = atomic_load(&j->c->bad);
    while (key < seen && !atomic_compare_exchange_weak(&j->c->bad, &seen, key)) {}
    atomic_store(&j->c->bad_layer, (int)(j->l - j->c->layers));
}

/* Whether the new rows [from, to) are finite; the first that is not is noted. */
static bool check_rows(const layer_job *j, const segment *s, int side, int head, int from, int to) {
    for (int p = from; p < to; p++)
        if (!ingot_row_ops_get()->finite(input_row(j, s, side, head, p), dim_of(j, side))) {
            note_bad(j, batch_row(j, s, p - s->first), head, side);
            return false;
        }
    return true;
}

int ingot_cache_count_bad(const layer_job *j) {
    int n = 0;
    for (int side = 0; side < N_SIDES; side++)
        for (int row = 0; row < j->c->n_rows; row++)
            for (int head = 0; head < j->l->shape.n_kv_heads; head++)
                n += !ingot_row_ops_get()->finite(j->x[side] + row * j->x_stride[side] + (ptrdiff_t)head * dim_of(j, side), dim_of(j, side));
    return n;
}

/* One row of the segment as the exact stores get it. */
static void transformed_row(const layer_job *j, const segment *s, int side, int head, int position, float *x) {
    ingot_chain_forward(&j->l->side[side][head].chain, x, input_row(j, s, side, head, position));
}

void ingot_cache_stored_row(const layer_job *j, const segment *s, int side, int head, int position, worker *w, float *x) {
    if (position < s->first) { /* already both */
        ingot_cache_ring_get(j->c, j->l, s->seq, side, head, position, w->block, x);
        return;
    }
    transformed_row(j, s, side, head, position, x);
    /* What the packed form is made from is what the exact window held. */
    if (j->c->ring_pages) ingot_row_ops_get()->round_halves(x, x, dim_of(j, side));
}

/* Rows [from, to), at most PAGE, ready to encode; for the packed form (unless `exact`) less the mean where keys are centred.
 * Returns the first row; *stride is their distance. */
static const float *gather(const layer_job *j, const segment *s, int side, int head, int from, int to, bool exact, worker *w, ptrdiff_t *stride) {
    const int dim = dim_of(j, side);
    if (from >= s->first && s->contiguous && !j->l->side[side][head].chain.n && (exact || !j->c->ring_pages)) {
        *stride = j->x_stride[side];
        return input_row(j, s, side, head, from);
    }
    const float *mean = !exact && j->l->centred && side == INGOT_SIDE_K ? ingot_cache_mean(j->c, j->l, s->seq, head) : NULL;
    *stride = dim;
    for (int p = from; p < to; p++) {
        float *x = w->rows + (ptrdiff_t)(p - from) * dim;
        if (exact) transformed_row(j, s, side, head, p, x);
        else ingot_cache_stored_row(j, s, side, head, p, w, x);
        for (int i = 0; mean && i < dim; i++) x[i] -= mean[i];
    }
    return w->rows;
}

/* Stores positions [from, to) of both sides into one head's tiles at `slot`; false when an input row is not finite. */
static bool put(const layer_job *j, const segment *s, int head, int from, int to, bool exact, uint8_t *tile, int slot, worker *w) {
    const cache_layer *l = j->l;
    for (int side = 0; side < N_SIDES; side++) {
        const ingot_kv_fmt *f = exact ? &l->exact_fmt[side] : &l->side[side][head].fmt;
        const ingot_tile_ops *ops = exact ? ingot_backend_tile(j->c->backend, side, f) : l->side[side][head].ops;
        ptrdiff_t stride;
        if (!check_rows(j, s, side, head, max_int(from, s->first), to)) return false;
        const float *x = gather(j, s, side, head, from, to, exact, w, &stride);
        uint8_t *at = tile + (side ? (exact ? l->exact_v_offset : l->v_offset) : 0);
        ops->put(f, at, slot, to - from, x, stride);
    }
    return true;
}

/* Positions [from, to) cut at page borders: the number of pieces, and piece i. */
static int n_pieces(int from, int to) { return from < to ? div_up(to, PAGE) - from / PAGE : 0; }

static void piece(int from, int to, int i, int *begin, int *end) {
    const int page = from / PAGE + i;
    *begin = max_int(from, page * PAGE);
    *end = min_int(to, (page + 1) * PAGE);
}

static int packed_begin(const layer_job *j, const segment *s) { return max_int(s->packed_from, j->c->n_sinks); }
static int sinks_end(const layer_job *j, const segment *s) { return min_int(j->c->n_sinks, s->first + s->n); }

/* What the policy makes of a position that is packed or enters the ring in this step. */
static float score_of(const layer_job *j, const segment *s, int head, int position) {
    const ingot_policy *policy = j->c->policy;
    if (position < s->first) return *ingot_cache_ring_score(j->c, j->l, s->seq, head, position);
    if (policy->score) return policy->score(input_row(j, s, INGOT_SIDE_K, head, position), dim_of(j, INGOT_SIDE_K), j->l->side[INGOT_SIDE_K][head].policy_cal);
    return policy->observers ? 0.0f : (float)position;
}

/* Packs positions [from, to), whose slots (position + shift) lie in one page. */
static void pack(const layer_job *j, const segment *s, int head, int from, int to, int shift, worker *w) {
    const int page = (from + shift) / PAGE, slot = (from + shift) % PAGE;
    if (!put(j, s, head, from, to, false, ingot_cache_packed_tile(j->c, j->l, s->seq, head, page), slot, w) || !j->l->evicts) return;
    page_meta *meta = ingot_cache_page_meta(j->c, j->l, s->seq, head, page);
    for (int p = from; p < to; p++) {
        meta->position[slot + p - from] = p;
        meta->score[slot + p - from] = score_of(j, s, head, p);
    }
}

static void copy_queries(const layer_job *j, const segment *s, int head, int chunk) {
    const cache_layer *l = j->l;
    const ingot_transform_chain *chain = &l->side[INGOT_SIDE_K][head].chain;
    const int dim = l->shape.k_dim, width = l->n_group * dim;
    const int end = min_int(s->n, (chunk + 1) * QUERY_TOKENS);
    for (int i = chunk * QUERY_TOKENS; i < end; i++) {
        const float *q = j->q + batch_row(j, s, i) * j->q_stride + (ptrdiff_t)head * width;
        float *to = j->c->q_copy + ((ptrdiff_t)(s->row + i) * l->shape.n_kv_heads + head) * width;
        if (!chain->n) {
            memcpy(to, q, sizeof(float) * (size_t)width);
            continue;
        }
        for (int g = 0; g < l->n_group; g++) ingot_chain_query(chain, to + g * dim, q + g * dim);
    }
}

/* The kinds of work of one head, in this order. */
typedef struct store_plan {
    int packed, batch, sinks, queries;
} store_plan;

static store_plan plan_store(const layer_job *j, const segment *s) {
    const int shift = ingot_cache_slot_shift(j->l, s, j->c);
    return (store_plan){
        .packed = n_pieces(packed_begin(j, s) + shift, s->packed_to + shift),
        .batch = j->c->ring_pages ? div_up(s->n, PAGE) : 0,
        .sinks = n_pieces(s->first, sinks_end(j, s)),
        .queries = j->copy_q ? div_up(s->n, QUERY_TOKENS) : 0,
    };
}

int ingot_cache_store_units(const layer_job *j, const segment *s) {
    const store_plan p = plan_store(j, s);
    return (p.packed + p.batch + p.sinks + p.queries) * j->l->shape.n_kv_heads;
}

void ingot_cache_store_unit(const layer_job *j, const segment *s, int unit, worker *w) {
    const store_plan p = plan_store(j, s);
    const int head = unit % j->l->shape.n_kv_heads;
    int i = unit / j->l->shape.n_kv_heads, from, to;
    if (i < p.packed) {
        const int shift = ingot_cache_slot_shift(j->l, s, j->c);
        piece(packed_begin(j, s) + shift, s->packed_to + shift, i, &from, &to);
        pack(j, s, head, from - shift, to - shift, shift, w);
        return;
    }
    i -= p.packed;
    if (i < p.batch) {
        from = s->first + i * PAGE;
        to = min_int(from + PAGE, s->first + s->n);
        put(j, s, head, from, to, true, ingot_cache_batch_tile(j->c, j->l, s, head, i), 0, w);
        return;
    }
    i -= p.batch;
    if (i < p.sinks) {
        piece(s->first, sinks_end(j, s), i, &from, &to);
        put(j, s, head, from, to, true, ingot_cache_sink_tile(j->c, j->l, s->seq, head, from / PAGE), from % PAGE, w);
        return;
    }
    copy_queries(j, s, head, i - p.sinks);
}

void ingot_cache_ring_update(const layer_job *j, const segment *s, int head, worker *w) {
    const cache_layer *l = j->l;
    const int end = s->first + s->n;
    for (int p = max_int(s->first, s->packed_to); p < end; p++) {
        const int i = p - s->first;
        const uint8_t *from = ingot_cache_batch_tile(j->c, l, s, head, i / PAGE);
        uint8_t *to = ingot_cache_ring_tile(j->c, l, s->seq, head, p / PAGE);
        if (l->evicts) *ingot_cache_ring_score(j->c, l, s->seq, head, p) = score_of(j, s, head, p);
        for (int side = 0; side < N_SIDES; side++) {
            const ingot_tile_ops *ops = ingot_backend_tile(j->c->backend, side, &l->exact_fmt[side]);
            const size_t offset = side ? l->exact_v_offset : 0;
            ops->get_block(&l->exact_fmt[side], from + offset, i % PAGE, w->block);
            ops->set_block(&l->exact_fmt[side], to + offset, p % PAGE, w->block);
        }
    }
}
