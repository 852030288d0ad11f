/* Rows of floats in registers, for files compiled for AVX2 or AVX-512. */
#ifndef INGOT_BASE_ROW_OPS_BODY_H
#define INGOT_BASE_ROW_OPS_BODY_H
#include "half.h"
#include "row_ops.h"
#include <immintrin.h>
#include <stddef.h>

#define ROW_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
enum { ROW_LANES = 16, ROW_STEPS = 4, ROW_BATCH = 16 };
typedef __m512 row_part;
ROW_INLINE row_part part_load(const float *p) { return _mm512_loadu_ps(p); }
ROW_INLINE void part_store(float *p, row_part x) { _mm512_storeu_ps(p, x); }
ROW_INLINE row_part part_set(float x) { return _mm512_set1_ps(x); }
ROW_INLINE row_part part_add(row_part a, row_part b) { return _mm512_add_ps(a, b); }
ROW_INLINE row_part part_sub(row_part a, row_part b) { return _mm512_sub_ps(a, b); }
ROW_INLINE row_part part_mul(row_part a, row_part b) { return _mm512_mul_ps(a, b); }
ROW_INLINE row_part part_fma(row_part a, row_part b, row_part c) { return _mm512_fmadd_ps(a, b, c); }
ROW_INLINE bool part_is_nan(row_part x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0; }
ROW_INLINE row_part part_flip(row_part x, const uint64_t *flip, int i) {
    const __mmask16 bits = (__mmask16)(flip[i / 64] >> (i % 64));
    return _mm512_castsi512_ps(_mm512_mask_xor_epi32(_mm512_castps_si512(x), bits, _mm512_castps_si512(x), _mm512_set1_epi32((int)0x80000000u)));
}
ROW_INLINE row_part part_half(row_part x) {
    const row_part c = _mm512_min_ps(_mm512_max_ps(x, part_set(-65504.f)), part_set(65504.f));
    return _mm512_cvtph_ps(_mm512_cvtps_ph(c, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/* Sums and differences of lanes that lie 2^step apart: a product with 1 or -1 is exact. */
ROW_INLINE row_part part_step(row_part x, int step) {
    const __mmask16 minus = step == 0 ? 0xaaaa : step == 1 ? 0xcccc : step == 2 ? 0xf0f0 : 0xff00;
    const row_part sign = _mm512_mask_blend_ps(minus, part_set(1.f), part_set(-1.f));
    const row_part other = step == 0   ? _mm512_permute_ps(x, 0xb1)
                           : step == 1 ? _mm512_permute_ps(x, 0x4e)
                           : step == 2 ? _mm512_shuffle_f32x4(x, x, 0xb1)
                                       : _mm512_shuffle_f32x4(x, x, 0x4e);
    return part_fma(x, sign, other);
}
#else
enum { ROW_LANES = 8, ROW_STEPS = 3, ROW_BATCH = 8 };
typedef __m256 row_part;
ROW_INLINE row_part part_load(const float *p) { return _mm256_loadu_ps(p); }
ROW_INLINE void part_store(float *p, row_part x) { _mm256_storeu_ps(p, x); }
ROW_INLINE row_part part_set(float x) { return _mm256_set1_ps(x); }
ROW_INLINE row_part part_add(row_part a, row_part b) { return _mm256_add_ps(a, b); }
ROW_INLINE row_part part_sub(row_part a, row_part b) { return _mm256_sub_ps(a, b); }
ROW_INLINE row_part part_mul(row_part a, row_part b) { return _mm256_mul_ps(a, b); }
ROW_INLINE row_part part_fma(row_part a, row_part b, row_part c) { return _mm256_fmadd_ps(a, b, c); }
ROW_INLINE bool part_is_nan(row_part x) { return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0; }
ROW_INLINE row_part part_flip(row_part x, const uint64_t *flip, int i) {
    const __m256i bits = _mm256_set1_epi32((int)(flip[i / 64] >> (i % 64) & 255));
    const __m256i sign = _mm256_and_si256(_mm256_sllv_epi32(bits, _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24)), _mm256_set1_epi32((int)0x80000000u));
    return _mm256_xor_ps(x, _mm256_castsi256_ps(sign));
}
ROW_INLINE row_part part_half(row_part x) {
    const row_part c = _mm256_min_ps(_mm256_max_ps(x, part_set(-65504.f)), part_set(65504.f));
    return _mm256_cvtph_ps(_mm256_cvtps_ph(c, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
ROW_INLINE row_part part_step(row_part x, int step) {
    const row_part sign = step == 0   ? _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1)
                          : step == 1 ? _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1)
                                      : _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1);
    const row_part other = step == 0 ? _mm256_permute_ps(x, 0xb1) : step == 1 ? _mm256_permute_ps(x, 0x4e) : _mm256_permute2f128_ps(x, x, 1);
    return part_fma(x, sign, other);
}
#endif

/* A product with 0 is 0 for finite numbers alone, else it is not a number, and sums stay so. */
static bool finite(const float *x, int n) {
    row_part sum[4] = {part_set(0.f), part_set(0.f), part_set(0.f), part_set(0.f)};
    float rest = 0.f;
    int i = 0;
    for (; i + 4 * ROW_LANES <= n; i += 4 * ROW_LANES)
        for (int j = 0; j < 4; j++) sum[j] = part_fma(part_load(x + i + j * ROW_LANES), part_set(0.f), sum[j]);
    for (; i + ROW_LANES <= n; i += ROW_LANES) sum[0] = part_fma(part_load(x + i), part_set(0.f), sum[0]);
    for (; i < n; i++) rest += x[i] * 0.f;
    return !part_is_nan(part_add(part_add(sum[0], sum[1]), part_add(sum[2], sum[3]))) && rest == 0.f;
}

static void round_halves(float *y, const float *x, int n) {
    int i = 0;
    for (; i + ROW_LANES <= n; i += ROW_LANES) part_store(y + i, part_half(part_load(x + i)));
    if (i < n) ingot_row_ops_plain.round_halves(y + i, x + i, n - i);
}

/* What comes last: the factor, and signs. */
ROW_INLINE void walsh_store(float *y, row_part x, int i, const uint64_t *flip_out, float norm) {
    x = part_mul(x, part_set(norm));
    part_store(y + i, flip_out ? part_flip(x, flip_out, i) : x);
}

/* Elements [at, at + n * ROW_LANES), in registers: steps within them, then between them. */
ROW_INLINE void walsh_batch(float *y, const float *x, int at, int n, const uint64_t *flip_in, const uint64_t *flip_out, float norm) {
    row_part p[ROW_BATCH];
    for (int i = 0; i < n; i++) {
        p[i] = part_load(x + at + i * ROW_LANES);
        if (flip_in) p[i] = part_flip(p[i], flip_in, at + i * ROW_LANES);
        for (int step = 0; step < ROW_STEPS; step++) p[i] = part_step(p[i], step);
    }
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                const row_part a = p[j], b = p[j + h];
                p[j] = part_add(a, b), p[j + h] = part_sub(a, b);
            }
    for (int i = 0; i < n; i++) walsh_store(y, p[i], at + i * ROW_LANES, flip_out, norm);
}

/* The steps between batches. */
static void walsh_join(float *y, int n, int h, const uint64_t *flip_out, float norm) {
    for (int i = 0; i < n; i += 2 * h)
        for (int j = i; j < i + h; j += ROW_LANES) {
            const row_part a = part_load(y + j), b = part_load(y + j + h);
            walsh_store(y, part_add(a, b), j, flip_out, norm);
            walsh_store(y, part_sub(a, b), j + h, flip_out, norm);
        }
}

static void walsh(float *y, const float *x, int n, const uint64_t *flip_in, const uint64_t *flip_out, float norm) {
    enum { WHOLE = ROW_BATCH * ROW_LANES };
    switch (n / ROW_LANES) {
    case 1: walsh_batch(y, x, 0, 1, flip_in, flip_out, norm); return;
    case 2: walsh_batch(y, x, 0, 2, flip_in, flip_out, norm); return;
    case 4: walsh_batch(y, x, 0, 4, flip_in, flip_out, norm); return;
    case 8: walsh_batch(y, x, 0, 8, flip_in, flip_out, norm); return;
    default: break;
    }
    if (n == WHOLE) {
        walsh_batch(y, x, 0, ROW_BATCH, flip_in, flip_out, norm);
        return;
    }
    for (int i = 0; i < n; i += WHOLE) walsh_batch(y, x, i, ROW_BATCH, flip_in, NULL, 1.f);
    for (int h = WHOLE; h < n; h *= 2) walsh_join(y, n, h, 2 * h == n ? flip_out : NULL, 2 * h == n ? norm : 1.f);
}

#define ROW_OPS {finite, round_halves, walsh}
#endif
