/* Products with int8 activations: activations in blocks of 32 (ref_weight.h), integer dot products for each, their sums in float.
 * For files compiled for one instruction set. */
#ifndef INGOT_CPU_LINEAR_INT8_H
#define INGOT_CPU_LINEAR_INT8_H
#include "linear_simd.h"

/* Quantises 32 activations; sums of the codes of both halves into sum[2]. */
VEC_INLINE float quantize_run(const float *x, int8_t *q, int *sum) {
#if defined(__AVX512F__)
    const __m512 v0 = _mm512_loadu_ps(x), v1 = _mm512_loadu_ps(x + 16);
    const __m512i abs = _mm512_set1_epi32(0x7fffffff);
    float inv;
    const __m512i top = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(v0), abs), _mm512_and_si512(_mm512_castps_si512(v1), abs));
    const float d = ingot_act_scale((uint32_t)_mm512_reduce_max_epi32(top), &inv);
    const __m512i i0 = _mm512_cvtps_epi32(_mm512_mul_ps(v0, _mm512_set1_ps(inv))), i1 = _mm512_cvtps_epi32(_mm512_mul_ps(v1, _mm512_set1_ps(inv)));
    _mm_storeu_si128((void *)q, _mm512_cvtepi32_epi8(i0));
    _mm_storeu_si128((void *)(q + 16), _mm512_cvtepi32_epi8(i1));
    sum[0] = _mm512_reduce_add_epi32(i0);
    sum[1] = _mm512_reduce_add_epi32(i1);
    return d;
#else
    const __m256i abs = _mm256_set1_epi32(0x7fffffff), ones = _mm256_set1_epi16(1);
    __m256 v[4];
    __m256i top = _mm256_setzero_si256(), i[4];
    for (int j = 0; j < 4; j++) {
        v[j] = _mm256_loadu_ps(x + 8 * j);
        top = _mm256_max_epi32(top, _mm256_and_si256(_mm256_castps_si256(v[j]), abs));
    }
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    float inv;
    const float d = ingot_act_scale((uint32_t)_mm_cvtsi128_si32(m), &inv);
    for (int j = 0; j < 4; j++) i[j] = _mm256_cvtps_epi32(_mm256_mul_ps(v[j], _mm256_set1_ps(inv)));
    for (int h = 0; h < 2; h++) {
        const __m256i w = _mm256_permute4x64_epi64(_mm256_packs_epi32(i[2 * h], i[2 * h + 1]), 0xd8);
        __m256i s = _mm256_madd_epi16(w, ones);
        __m128i t = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
        t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
        sum[h] = _mm_cvtsi128_si32(_mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1)));
        _mm_storeu_si128((void *)(q + 16 * h), _mm_packs_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
    }
    return d;
#endif
}

static void quantize(const lin_acts *acts, const float *x, ptrdiff_t x_stride, int t0, int t1) {
    for (int t = t0, n; t < t1; t += n) {
        n = lin_tile_tokens(acts->n_tokens, t, LIN_TILE);
        int8_t *q = acts->q + (ptrdiff_t)t * acts->n_in;
        float *meta = acts->meta + (ptrdiff_t)t * acts->n_runs * 4;
        for (int r = 0; r < acts->n_runs; r++, q += n * LIN_RUN, meta += n * 4) {
            for (int i = 0; i < n; i++) {
                int sum[2];
                const float d = quantize_run(x + (t + i) * x_stride + r * LIN_RUN, q + i * LIN_RUN, sum);
                meta[i] = d;
                meta[n + i] = d * (float)sum[0];
                meta[2 * n + i] = d * (float)sum[1];
                meta[3 * n + i] = d * (float)(sum[0] + sum[1]);
            }
        }
    }
}

/* n tokens (a constant) times the 16 rows of a group; lanes of `part` into y[n]. */
LIN_KERNEL void tile_part(const lin_format f, const int n, const ingot_weight *w, const uint8_t *group, int part, const int8_t *q, const float *meta, vf *y) {
    const uint8_t *scales = group + w->scales_at;
    const vi table = lin_load_table(f, w);
    const int n_runs = w->n_in / LIN_RUN, halves = LIN_RUN / f.part;
    vf sum[16];
    LIN_UNROLL(16) for (int t = 0; t < n; t++) sum[t] = vf_zero();
    for (int i = 0; i < n_runs; i++, group += lin_code_bytes(f.code), q += n * LIN_RUN, meta += n * 4) {
        vi c[8];
        if (n <= 4 && part == 0) lin_fetch(f.code, group + LIN_AHEAD);
        lin_unpack(f.code, group, part, table, c);
        LIN_UNROLL(2) for (int h = 0; h < halves; h++) {
            vf a, b;
            lin_scales(f, scales, i, h, part, &a, &b);
            const float *sums = meta + (halves == 1 ? 3 : 1 + h) * n;
            LIN_UNROLL(16) for (int t = 0; t < n; t++) {
                const vi dot = lin_dot(f.code, c, q + t * LIN_RUN, h * (8 / halves), (h + 1) * (8 / halves));
                sum[t] = vf_fma(vi_to_float(dot), vf_mul(a, vf_set(meta[t])), sum[t]);
                if (!lin_signed(f.code)) sum[t] = vf_fma(b, vf_set(sums[t]), sum[t]);
            }
        }
    }
    LIN_UNROLL(16) for (int t = 0; t < n; t++) y[t] = sum[t];
}

LIN_KERNEL void tile_group(const lin_format f, const int n, const ingot_linear_out *o, const lin_acts *acts, int g, int t0) {
    const ingot_weight *w = o->w;
    const uint8_t *group = w->data + (size_t)g * w->group_bytes;
    for (int part = 0; part < LIN_PARTS; part++) {
        const int lanes = lin_lanes(w, g, part), row = g * LIN_ROWS + part * VW;
        vf y[16];
        tile_part(f, n, w, group, part, acts->q + (ptrdiff_t)t0 * acts->n_in, acts->meta + (ptrdiff_t)t0 * acts->n_runs * 4, y);
        const vf bias = o->bias ? lin_load(o->bias + row, lanes) : vf_zero();
        LIN_UNROLL(16) for (int t = 0; t < n; t++) lin_store(o->y + (t0 + t) * o->y_stride + row, vf_add(y[t], bias), lanes);
    }
}

/* Rows of one format; a function each, with the tile sizes unrolled inside. */
#define ROWS_INT8(type, code, scale, part, zero)                                                                         \
    static void rows_##type(const ingot_linear_out *o, const lin_acts *acts, int g0, int g1, int t0, int t1) {           \
        const lin_format f = {0, code, scale, part, zero};                                                               \
        for (int g = g0; g < g1; g++) {                                                                                  \
            for (int t = t0, n; t < t1; t += n) {                                                                        \
                n = lin_tile_tokens(acts->n_tokens, t, LIN_TILE);                                                        \
                if (n == 1) tile_group(f, 1, o, acts, g, t);                                                             \
                else if (n == 2) tile_group(f, 2, o, acts, g, t);                                                        \
                else if (n == 4) tile_group(f, 4, o, acts, g, t);                                                        \
                else tile_group(f, LIN_TILE, o, acts, g, t);                                                             \
            }                                                                                                            \
        }                                                                                                                \
    }
LIN_FORMATS(ROWS_INT8)
#undef ROWS_INT8
#endif
