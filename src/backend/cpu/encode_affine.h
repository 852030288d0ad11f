/* Codes against a scale and an offset: int2 to int8, q4_1, KIVI. */
#ifndef INGOT_CPU_ENCODE_AFFINE_H
#define INGOT_CPU_ENCODE_AFFINE_H
#include "encode_vec.h"

/* What the codes of each group are taken against. */
typedef struct group_grids { group_floats origin, step, inverse; } group_grids;

/* 0 - (-0), and not -0, where all elements are zeros of either sign. */
VEC_INLINE vf width_of(vf hi, vf lo) { return vf_add(vf_sub(hi, lo), vf_zero()); }

/* As encode_group in src/codec/affine.c. */
VEC_INLINE void codes_int(const encode_rows *r, const group_grids *grids, float half, bool wide, uint8_t *codes) {
    for (int token = 0, i = 0; token < r->n; token++)
        for (int g = 0; g < r->n_groups; g++, i++) {
            const group_at a = group_of(r, token, g);
            const vf mid = vf_set(grids->origin.x[i]), inverse = vf_set(grids->inverse.x[i]);
            for (int k = 0; k < a.n; k += VW) {
                const vf x = vf_load(a.x + k), c = clamp(vf_mul(vf_sub(wide ? clip(x) : x, mid), inverse), -half, half - 1.f);
                store_codes(codes + a.at + k, vi_add(vi_nearest(c), vi_set((uint32_t)half)));
            }
        }
}

VEC_INLINE void encode_int(const encode_rows *r, int bits, uint8_t *codes, uint16_t *scales, uint16_t *mids) {
    const float half = (float)(1 << (bits - 1));
    group_floats high, low;
    group_grids grids;
    find_ranges(r, &high, &low);
    for (int i = 0; i < r->all; i += VW) {
        const vf hi = clip(vf_load(high.x + i)), lo = clip(negative(vf_load(low.x + i)));
        const vf s = round_half(scales + i, vf_div(width_of(hi, lo), vf_set(2.f * half - 1.f)));
        const vf mid = vf_add(vf_mul(vf_add(lo, hi), vf_set(0.5f)), vf_mul(s, vf_set(0.5f)));
        vf_store(grids.origin.x + i, round_half(mids + i, clip(mid)));
        vf_store(grids.inverse.x + i, where_positive(s, vf_div(vf_set(1.f), s)));
    }
    if (any_beyond_halves(r, &high, &low)) codes_int(r, &grids, half, true, codes);
    else codes_int(r, &grids, half, false, codes);
}

/* As quantise_affine in src/codec/ggml.c: codes against the unrounded step. */
VEC_INLINE void encode_ggml_affine(const encode_rows *r, int bits, uint8_t *codes, uint16_t *scales, uint16_t *mins) {
    const float top = (float)((1 << bits) - 1);
    group_floats high, low, inverse;
    find_ranges(r, &high, &low);
    settle_lows(r, &low);
    for (int i = 0; i < r->all; i += VW) {
        const vf lo = vf_load(low.x + i), d = vf_div(width_of(clip(vf_load(high.x + i)), lo), vf_set(top));
        store_halves(scales + i, d);
        store_halves(mins + i, lo);
        vf_store(inverse.x + i, where_not_zero(d, vf_div(vf_set(1.f), d)));
    }
    for (int token = 0, i = 0; token < r->n; token++)
        for (int g = 0; g < r->n_groups; g++, i++) {
            const group_at a = group_of(r, token, g);
            const vf lo = vf_set(low.x[i]), inv = vf_set(inverse.x[i]);
            for (int k = 0; k < a.n; k += VW) {
                const vf c = vf_add(vf_mul(vf_sub(clip(vf_load(a.x + k)), lo), inv), vf_set(0.5f));
                store_codes(codes + a.at + k, vi_truncate(clamp(c, 0.f, top)));
            }
        }
}

/* As code_of in src/codec/kivi.c, which divides. A product with the inverse is off by 4e-6 at most; only near the border of two codes that matters. */
VEC_INLINE vi kivi_code(vf x, vf z, vf s, vf inverse, float top) {
    const vf t = vf_sub(clip(x), z), product = vf_mul(t, inverse);
    vf c = vf_round(product);
    if (__builtin_expect(vf_any_above(magnitude(vf_sub(product, c)), vf_set(0.4999f)), 0)) c = vf_round(where_positive(s, vf_div(t, s)));
    return vi_nearest(clamp(c, 0.f, top));
}

/* Grids from largest and smallest, clipped. */
VEC_INLINE void kivi_grid(vf hi, vf lo, float top, uint16_t *scale, uint16_t *min, float *s, float *z, float *inverse) {
    const vf step = round_half(scale, vf_div(width_of(hi, lo), vf_set(top)));
    vf_store(s, step);
    vf_store(z, round_half(min, lo));
    vf_store(inverse, where_positive(step, vf_div(vf_set(1.f), step)));
}

VEC_INLINE void encode_kivi_values(const encode_rows *r, int bits, uint8_t *codes, uint16_t *scales, uint16_t *mins) {
    const float top = (float)((1 << bits) - 1);
    group_floats high, low;
    group_grids grids;
    find_ranges(r, &high, &low);
    settle_lows(r, &low);
    for (int i = 0; i < r->all; i += VW)
        kivi_grid(clip(vf_load(high.x + i)), vf_load(low.x + i), top, scales + i, mins + i, grids.step.x + i, grids.origin.x + i, grids.inverse.x + i);
    for (int token = 0, i = 0; token < r->n; token++)
        for (int g = 0; g < r->n_groups; g++, i++) {
            const group_at a = group_of(r, token, g);
            const vf z = vf_set(grids.origin.x[i]), s = vf_set(grids.step.x[i]), inverse = vf_set(grids.inverse.x[i]);
            for (int k = 0; k < a.n; k += VW) store_codes(codes + a.at + k, kivi_code(vf_load(a.x + k), z, s, inverse, top));
        }
}

/* The first of several smallest keys where these are zeros, as in settle_lows; x: the first token's. */
static inline void settle_zeros(float *low, const float *x, ptrdiff_t stride, int n) {
    for (int c = 0; c < VW; c++)
        for (int t = 0; low[c] == 0.f && t < n; t++)
            if (x[t * stride + c] == 0.f) { low[c] = x[t * stride + c]; break; }
}

/* Tokens [first, first + n) of a block; scales belong to channels. */
VEC_INLINE void encode_kivi_keys(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, int bits, uint8_t *codes, uint16_t *scales, uint16_t *mins) {
    const float top = (float)((1 << bits) - 1);
    memset(codes, 0, (size_t)(first * f->dim));
    memset(codes + (first + n) * f->dim, 0, (size_t)((f->group - first - n) * f->dim));
    x += first * stride, codes += first * f->dim;
    for (int c = 0; c < f->dim; c += VW) {
        float low[VW], step[VW], origin[VW], inverse[VW];
        vf hi = vf_load(x + c), lo = hi;
        for (int t = 1; t < n; t++) {
            const vf v = vf_load(x + t * stride + c);
            hi = vf_max(hi, v), lo = vf_min(lo, v);
        }
        lo = clip(lo);
        if (any_equal(lo, vf_zero())) {
            vf_store(low, lo);
            settle_zeros(low, x + c, stride, n);
            lo = vf_load(low);
        }
        kivi_grid(clip(hi), lo, top, scales + c, mins + c, step, origin, inverse);
        const vf z = vf_load(origin), s = vf_load(step), inv = vf_load(inverse);
        for (int t = 0; t < n; t++) store_codes(codes + t * f->dim + c, kivi_code(vf_load(x + t * stride + c), z, s, inv, top));
    }
}
#endif
