/* Pieces of the softmax phase for 256-bit registers. */
#ifndef INGOT_CPU_ATTEND_P_AVX2_H
#define INGOT_CPU_ATTEND_P_AVX2_H
#include "attend_phase.h"

/* A transposition that shrinks as it goes: of up to four vectors the largest lanes, repeated in both halves. */
VEC_INLINE __m256 tops_of_4(const int n, const __m256 *m) {
    const __m256 m0 = m[0], m1 = n > 1 ? m[1] : m0, m2 = n > 2 ? m[2] : m1, m3 = n > 3 ? m[3] : m2;
    const __m256 t0 = _mm256_max_ps(_mm256_unpacklo_ps(m0, m1), _mm256_unpackhi_ps(m0, m1));
    const __m256 t1 = _mm256_max_ps(_mm256_unpacklo_ps(m2, m3), _mm256_unpackhi_ps(m2, m3));
    const __m256 u = _mm256_max_ps(_mm256_shuffle_ps(t0, t1, 0x44), _mm256_shuffle_ps(t0, t1, 0xEE));
    return _mm256_max_ps(u, _mm256_permute2f128_ps(u, u, 1));
}
VEC_INLINE void row_tops(const int n, const __m256 *m, __m256 *top) {
    top[0] = tops_of_4(n, m);
    top[1] = n > 4 ? tops_of_4(n - 4, m + 4) : top[0];
}

/* Halves without their signs order as integers. */
VEC_INLINE float largest_scale(const uint16_t *s, int lo, int hi) {
    __m256i top = _mm256_setzero_si256(), at = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    VEC_UNROLL(4) for (int i = 0; i < 4; i++) {
        const __m256i below = _mm256_cmpgt_epi16(_mm256_set1_epi16((short)lo), at), in = _mm256_cmpgt_epi16(_mm256_set1_epi16((short)hi), at);
        const __m256i x = _mm256_and_si256(_mm256_andnot_si256(below, in), _mm256_loadu_si256((const void *)(s + i * 16)));
        top = _mm256_max_epi16(top, _mm256_and_si256(x, _mm256_set1_epi16(0x7fff)));
        at = _mm256_add_epi16(at, _mm256_set1_epi16(16));
    }
    return largest_of_8(_mm_max_epi16(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1)));
}

/* Integers below 65536 of x * w for half h of the lanes: in the 16-bit halves of a lane tokens i and i + 32, and i + 16 and i + 48. */
typedef struct weight_pairs { __m256i even, odd; } weight_pairs;

VEC_INLINE weight_pairs weight_pairs_of(const __m256 *x, const __m256 *w, const int h) {
    __m256i v[4];
    VEC_UNROLL(4) for (int t = 0; t < 4; t++) { /* the sum has the integer in its low bits, and nothing else in the low half */
        v[t] = _mm256_castps_si256(_mm256_fmadd_ps(x[2 * t + h], w[2 * t + h], _mm256_set1_ps(8388608.f)));
    }
    return (weight_pairs){_mm256_blend_epi16(v[0], _mm256_slli_epi32(v[2], 16), 0xaa), _mm256_blend_epi16(v[1], _mm256_slli_epi32(v[3], 16), 0xaa)};
}

/* Dword lane i, byte b = token i + 16 b. */
VEC_INLINE void pack_one_digit(const __m256 *x, const __m256 *w, uint32_t *p) {
    VEC_UNROLL(2) for (int h = 0; h < 2; h++) {
        const weight_pairs v = weight_pairs_of(x, w, h);
        _mm256_storeu_si256((void *)(p + h * 8), _mm256_or_si256(v.even, _mm256_slli_epi16(v.odd, 8)));
    }
}
#endif
