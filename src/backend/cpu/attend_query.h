/* Queries of the packed attention as its K phase takes them. For files compiled for one instruction set, which provide before
 *   pack_query(i, out)     integers of VW channels as the K phase takes them: out [quad][first, second]; where there is one digit it is the second
 *   code_excess(kind)      what the loop's codes are larger by than the numbers of the kind */
#ifndef INGOT_CPU_ATTEND_QUERY_H
#define INGOT_CPU_ATTEND_QUERY_H
#include "attend_phase.h"

/* Largest query: as two digits in -127..127 and -128..127, or as one. */
VEC_INLINE float query_max(int digits) { return digits == 2 ? 32512.f : 127.f; }

VEC_INLINE float largest_of(const float *x, int n) {
    vf top = vf_zero();
    for (int c = 0; c < n; c += VW) top = vf_max(top, vf_max(vf_load(x + c), vf_sub(vf_zero(), vf_load(x + c))));
    return vf_top(top);
}

/* Integers of x / step for row r of n, in the order [quad][digits][n]; their sum, and that of the floats. */
VEC_INLINE int32_t put_integers(const float *x, int channels, float inverse, int digits, int32_t *q, int n, int r, float *sum_f) {
    vi sum = vi_set(0);
    vf sums = vf_zero();
    for (int c = 0; c < channels; c += VW) {
        const vf v = vf_mul(vf_load(x + c), vf_set(inverse));
        const vi i = vi_nearest(v);
        int32_t packed[VW / 4][2];
        pack_query(i, packed);
        for (int j = 0; j < VW / 4; j++) {
            int32_t *at = q + (c / 4 + j) * digits * n + r;
            if (digits == 2) at[0] = packed[j][0];
            at[(digits - 1) * n] = packed[j][1];
        }
        sum = vi_add(sum, i);
        sums = vf_add(sums, v);
    }
    *sum_f = vf_sum(sums);
    return vi_sum(sum);
}

static void prepare_integers(attend_block *b, const attend_call *c, int r, const float *q) {
    const tile16 *t = &c->k;
    const float most = largest_of(q, t->dim), step = most > 1e-30f ? most / query_max(c->digits) : 1.f, inverse = 1.f / step;
    b->step[r] = step * t->unit * c->a->scale * VEC_LOG2E;
    for (int g = 0, at = 0; at < t->dim; g++, at += t->group) {
        const int channels = t->dim - at < t->group ? t->dim - at : t->group;
        float sum_f;
        const int32_t sum = put_integers(q + at, channels, inverse, c->digits, b->q + (ptrdiff_t)at / 4 * c->digits * b->n, b->n, r, &sum_f);
        b->offset[g * b->n + r] = (int32_t)(0u - (uint32_t)code_excess(t->kind) * (uint32_t)sum);
        b->q_sum[g * b->n + r] = sum_f / t->unit;
    }
}

static void prepare_floats(attend_block *b, const attend_call *c, int r, const float *q) {
    const float f = c->a->scale * VEC_LOG2E;
    const bool rows = c->k.tokens != 0;
    for (int i = 0; i < c->a->k.dim; i++) b->qf[rows ? r * c->a->k.dim + i : i * b->n + r] = q[i] * f;
}

static void prepare_query(attend_block *b, const attend_call *c, int r, const float *q) {
    if (c->k_kind == ATTEND_F16 || c->k.tokens) prepare_floats(b, c, r, q);
    else prepare_integers(b, c, r, q);
}

/* Keys with scales per channel: the block's queries times the scales of block i of the page's tokens. */
static void scale_queries(const attend_block *b, const attend_call *c, attend_page *pg, int i) {
    const tile16 *t = &c->k;
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k + i * t->dim, *offsets = scales + t->offsets / 2;
    attend_scaled *out = &pg->scaled[i];
    float x[TILE_MAX_DIM];
    out->q = c->scaled_q[i];
    for (int r = 0; r < b->n; r++) {
        const float *q = b->qf + r * t->dim;
        vf add = vf_zero();
        for (int k = 0; k < t->dim; k += VW) {
            const vf w = vf_load(q + k), s = vf_halves(scales + k);
            vf_store(x + k, vf_mul(w, s));
            add = vf_fma(w, vf_fma(s, vf_set(t->shift), vf_halves(offsets + k)), add);
        }
        const float most = largest_of(x, t->dim), step = most > 1e-30f ? most / query_max(c->digits) : 1.f;
        float sum_f;
        const int32_t sum = put_integers(x, t->dim, 1.f / step, c->digits, out->q, b->n, r, &sum_f);
        out->offset[r] = (int32_t)(0u - (uint32_t)code_excess(t->kind) * (uint32_t)sum);
        out->step[r] = step * t->unit;
        out->add[r] = vf_sum(add);
    }
}
#endif
