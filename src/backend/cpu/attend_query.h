/* Queries of the packed attention as its K phase takes them. For files compiled for one instruction set, which provide before
 *   pack_query(i, digits, out)  integers of VW channels as the K phase takes them: out [quad][first, second], or [quad] where there is one digit
 *   code_excess(kind, digits)   what the loop's codes are larger by than the numbers of the kind */
#ifndef INGOT_CPU_ATTEND_QUERY_H
#define INGOT_CPU_ATTEND_QUERY_H
#include "attend_phase.h"
#include <string.h>

/* Largest query: as two digits in -127..127 and -128..127, or as one. */
VEC_INLINE float query_max(int digits) { return digits == 2 ? 32512.f : 127.f; }

VEC_INLINE float largest_of(const float *x, int n) {
    vf top = vf_zero();
    for (int c = 0; c < n; c += VW) top = vf_max(top, vf_max(vf_load(x + c), vf_sub(vf_zero(), vf_load(x + c))));
    return vf_top(top);
}

/* Integers of x / step, in the order [quad][digits]; their sum. */
VEC_INLINE int32_t to_integers(const float *x, int channels, float inverse, const int digits, int32_t *out) {
    vi sum = vi_set(0);
    for (int c = 0; c < channels; c += VW, out += VW / 4 * digits) {
        const vi i = vi_nearest(vf_mul(vf_load(x + c), vf_set(inverse)));
        pack_query(i, digits, out);
        sum = vi_add(sum, i);
    }
    return vi_sum(sum);
}

/* Rows of n words side by side: out [word][n]. */
static void interleave(const int32_t *rows, ptrdiff_t stride, int n, int words, int32_t *out) {
    int r = 0;
    for (; r + 4 <= n; r += 4) {
        const int32_t *x = rows + r * stride;
        for (int i = 0; i < words; i += 4) {
            const float *const in[4] = {(const float *)(const void *)(x + i), (const float *)(const void *)(x + stride + i),
                                        (const float *)(const void *)(x + 2 * stride + i), (const float *)(const void *)(x + 3 * stride + i)};
            transpose_4(in, (float *)(void *)(out + (ptrdiff_t)i * n + r), n);
        }
    }
    for (; r < n; r++) {
        for (int i = 0; i < words; i++) out[i * n + r] = rows[r * stride + i];
    }
}

VEC_INLINE float step_of(float most, int digits) { return most > 1e-30f ? most / query_max(digits) : 1.f; }

/* What starts the sum of a row's products with codes that are too large. */
VEC_INLINE int32_t excess_of(const tile16 *t, int32_t sum, int digits) { return (int32_t)(0u - (uint32_t)code_excess(t->kind, digits) * (uint32_t)sum); }

static float sum_of(const float *x, int n) {
    vf sum = vf_zero();
    for (int c = 0; c < n; c += VW) sum = vf_add(sum, vf_load(x + c));
    return vf_sum(sum);
}

/* Row r's integers into `out` [dim/4][digits], what goes with them into the block. */
VEC_INLINE void prepare_integers(attend_block *b, const attend_call *c, int r, const float *q, const int digits, int32_t *out) {
    const tile16 *t = &c->k;
    const float step = step_of(largest_of(q, t->dim), digits), inverse = 1.f / step;
    b->step[r] = step * t->unit * c->a->scale * VEC_LOG2E;
    for (int g = 0, at = 0; at < t->dim; g++, at += t->group) {
        const int channels = t->dim - at < t->group ? t->dim - at : t->group;
        b->offset[g * b->n + r] = excess_of(t, to_integers(q + at, channels, inverse, digits, out + at / 4 * digits), digits);
        if (t->has_offset) b->q_sum[g * b->n + r] = sum_of(q + at, channels) * inverse / t->unit;
    }
}

static void prepare_floats(attend_block *b, const attend_call *c, int r, const float *q) {
    const float f = c->a->scale * VEC_LOG2E;
    const bool rows = c->k.tokens != 0;
    for (int i = 0; i < c->a->k.dim; i++) b->qf[rows ? r * c->a->k.dim + i : i * b->n + r] = q[i] * f;
}

static void prepare_queries(attend_block *b, const attend_call *c) {
    int32_t rows[BLOCK_ROWS][TILE_MAX_DIM / 2];
    const bool floats = c->k_kind == ATTEND_F16 || c->k.tokens;
    for (int r = 0; r < b->n; r++) {
        const float *q = cpu_query_row(c->a, b->row0 + r);
        if (floats) prepare_floats(b, c, r, q);
        else if (c->digits == 1) prepare_integers(b, c, r, q, 1, rows[r]);
        else prepare_integers(b, c, r, q, 2, rows[r]);
    }
    if (!floats) interleave(rows[0], TILE_MAX_DIM / 2, b->n, c->k.dim / 4 * c->digits, b->q);
}

/* Keys with scales per channel: the block's queries times the scales of block i of the page's tokens. */
VEC_INLINE void scale_queries_to(const attend_block *b, const attend_call *c, attend_page *pg, int i, const int digits) {
    const tile16 *t = &c->k;
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k + i * t->dim, *offsets = scales + t->offsets / 2;
    attend_scaled *out = &pg->scaled[i];
    float s[TILE_MAX_DIM], mid[TILE_MAX_DIM], x[TILE_MAX_DIM];
    int32_t rows[BLOCK_ROWS][TILE_MAX_DIM / 2];
    for (int k = 0; k < t->dim; k += VW) {
        const vf scale = vf_halves(scales + k);
        vf_store(s + k, scale);
        vf_store(mid + k, vf_fma(scale, vf_set(t->shift), vf_halves(offsets + k)));
    }
    for (int r = 0; r < b->n; r++) {
        const float *q = b->qf + r * t->dim;
        vf add = vf_zero(), top = vf_zero();
        for (int k = 0; k < t->dim; k += VW) {
            const vf w = vf_load(q + k), y = vf_mul(w, vf_load(s + k));
            vf_store(x + k, y);
            add = vf_fma(w, vf_load(mid + k), add);
            top = vf_max(top, vf_max(y, vf_sub(vf_zero(), y)));
        }
        const float step = step_of(vf_top(top), digits);
        out->offset[r] = excess_of(t, to_integers(x, t->dim, 1.f / step, digits, rows[r]), digits);
        out->step[r] = step * t->unit;
        out->add[r] = vf_sum(add);
    }
    out->q = c->scaled_q[i];
    interleave(rows[0], TILE_MAX_DIM / 2, b->n, t->dim / 4 * digits, out->q);
}

/* A block that no row sees may hold anything; its scores are masked. */
static void scale_no_queries(const attend_block *b, const attend_call *c, attend_page *pg, int i) {
    pg->scaled[i] = (attend_scaled){.q = c->scaled_q[i]};
    memset(c->scaled_q[i], 0, (size_t)(c->k.dim / 4 * c->digits * b->n) * sizeof *c->scaled_q[i]);
}

static void scale_queries(const attend_block *b, const attend_call *c, attend_page *pg, int i) {
    if (i * c->k.tokens >= pg->window.hi || (i + 1) * c->k.tokens <= pg->window.lo) scale_no_queries(b, c, pg, i);
    else if (c->digits == 1) scale_queries_to(b, c, pg, i, 1);
    else scale_queries_to(b, c, pg, i, 2);
}
#endif
