/* Reference tiles and attention: a tile is canonical blocks one after the other, sums are in double. This defines
 * what is correct for all other back ends; it is generic over codecs through their canonical decode. */
#include "ref_kv.h"
#include <math.h>
#include <string.h>

/* Whole cache lines: blocks of several tokens need not fill them. */
static size_t tile_bytes(const ingot_kv_fmt *f) {
    const size_t bytes = (size_t)(INGOT_PAGE_TOKENS / ingot_codec_tokens(f)) * ingot_codec_get(f->codec)->block_bytes(f);
    return (bytes + 63) & ~(size_t)63;
}

static size_t block_at(const ingot_kv_fmt *f, int slot) {
    return (size_t)(slot / ingot_codec_tokens(f)) * ingot_codec_get(f->codec)->block_bytes(f);
}

static void tile_put(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    const int tokens = ingot_codec_tokens(f), end = slot + n;
    for (int from = slot; from < end;) {
        const int base = from - from % tokens, to = base + tokens < end ? base + tokens : end;
        /* encode counts tokens from the start of the block, where x may have none */
        ingot_codec_get(f->codec)->encode(f, x + (base - slot) * stride, stride, from - base, to - from, tile + block_at(f, base));
        from = to;
    }
}

static void tile_get_block(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *block) {
    memcpy(block, tile + block_at(f, slot), ingot_codec_get(f->codec)->block_bytes(f));
}

static void tile_set_block(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *block) {
    memcpy(tile + block_at(f, slot), block, ingot_codec_get(f->codec)->block_bytes(f));
}

/* Scratch: per row m, l and o [v.dim] in double, then one decoded block of K and one of V. */
static size_t attend_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_group, int max_tokens) {
    const size_t rows = (size_t)n_group * (size_t)max_tokens;
    return rows * (size_t)(v->dim + 2) * sizeof(double) + ((size_t)k->dim * (size_t)ingot_codec_tokens(k) + (size_t)v->dim * (size_t)ingot_codec_tokens(v)) * sizeof(float);
}

/* One step of the online softmax: state s = (m, l, o[dim]) takes value v with score x. */
static void take(double *s, double x, const float *v, int dim) {
    double *m = s, *l = s + 1, *o = s + 2;
    if (x > *m) {
        const double c = *l > 0 ? exp(*m - x) : 0; /* *m is -inf while l is 0 */
        *l *= c;
        for (int i = 0; i < dim; i++) o[i] *= c;
        *m = x;
    }
    const double p = exp(x - *m);
    *l += p;
    for (int i = 0; i < dim; i++) o[i] += p * v[i];
}

/* The vector of a slot; `x` holds its decoded block, which is decoded where `first` says so or the block begins. */
static const float *decode_slot(const ingot_kv_fmt *f, const uint8_t *tile, int slot, bool first, float *x) {
    const int tokens = ingot_codec_tokens(f), at = slot % tokens;
    if (first || at == 0) ingot_codec_get(f->codec)->decode(f, tile + block_at(f, slot), x);
    return x + (ptrdiff_t)at * f->dim;
}

static void load_state(const ingot_attend_args *a, int row, double *s) {
    s[0] = (double)a->m[row], s[1] = (double)a->l[row];
    for (int i = 0; i < a->v.dim; i++) s[2 + i] = (double)a->o[(ptrdiff_t)row * a->v.dim + i];
}

static void store_state(const ingot_attend_args *a, int row, const double *s) {
    a->m[row] = (float)s[0];
    /* The sum belongs to the maximum that is stored: the rounding of m is taken out of l and o. */
    const double c = s[1] > 0 ? exp(s[0] - (double)a->m[row]) : 1;
    a->l[row] = (float)(s[1] * c);
    for (int i = 0; i < a->v.dim; i++) a->o[(ptrdiff_t)row * a->v.dim + i] = (float)(s[2 + i] * c);
}

static void attend_position(const ingot_attend_args *a, int p, bool first, double *state, float *k_block, float *v_block) {
    const uint8_t *tile = a->tiles[p / INGOT_PAGE_TOKENS];
    const float *k = decode_slot(&a->k, tile, p % INGOT_PAGE_TOKENS, first, k_block);
    const float *v = decode_slot(&a->v, tile + a->v_offset, p % INGOT_PAGE_TOKENS, first, v_block);
    for (int t = 0; t < a->n_tokens; t++) {
        if (p < a->lo[t] || p >= a->hi[t]) continue;
        for (int g = 0; g < a->n_group; g++) {
            const float *q = a->q + t * a->q_token_stride + (ptrdiff_t)g * a->k.dim;
            double dot = 0;
            for (int i = 0; i < a->k.dim; i++) dot += (double)q[i] * (double)k[i];
            take(state + (size_t)(t * a->n_group + g) * (size_t)(a->v.dim + 2), dot * (double)a->scale, v, a->v.dim);
        }
    }
}

static void attend(const ingot_attend_args *a) {
    const int rows = a->n_tokens * a->n_group;
    const size_t width = (size_t)a->v.dim + 2;
    double *state = a->scratch;
    float *k = (float *)(state + (size_t)rows * width), *v = k + (ptrdiff_t)a->k.dim * ingot_codec_tokens(&a->k);
    int first = INT32_MAX, end = 0;
    for (int t = 0; t < a->n_tokens; t++) {
        if (a->lo[t] >= a->hi[t]) continue;
        if (a->lo[t] < first) first = a->lo[t];
        if (a->hi[t] > end) end = a->hi[t];
    }
    if (first >= end) return;
    for (int r = 0; r < rows; r++) load_state(a, r, state + (size_t)r * width);
    for (int p = first; p < end; p++) attend_position(a, p, p == first, state, k, v);
    for (int r = 0; r < rows; r++)
        if (a->lo[r / a->n_group] < a->hi[r / a->n_group]) store_state(a, r, state + (size_t)r * width);
}

static void merge(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim) {
    if (lb == 0.0f) return;
    const double top = *l == 0.0f || mb > *m ? (double)mb : (double)*m;
    const double ca = *l == 0.0f ? 0 : exp((double)*m - top), cb = exp((double)mb - top);
    for (int i = 0; i < dim; i++) o[i] = (float)((*l == 0.0f ? 0 : ca * (double)o[i]) + cb * (double)ob[i]);
    *l = (float)(ca * (double)*l + cb * (double)lb);
    *m = (float)top;
}

static void normalize(const float *o, float l, float *out, int dim) {
    for (int i = 0; i < dim; i++) out[i] = l == 0.0f ? 0.0f : (float)((double)o[i] / (double)l);
}

void ingot_ref_kv_init(ingot_backend *b) {
    b->plain_tile = (ingot_tile_ops){NULL, tile_bytes, tile_put, tile_get_block, tile_set_block};
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < INGOT_N_CODECS; c++) b->tile[side][c] = b->plain_tile;
    b->attend = attend;
    b->attend_scratch_bytes = attend_scratch_bytes;
    b->merge = merge;
    b->normalize = normalize;
}
