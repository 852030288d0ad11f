/* Softmax phase of the packed attention, AVX-512: weights as two u8 digits, or one. */
#include "attend_dot_avx512.h"

/* Largest weight of a page as an integer, and its log2. */
VEC_INLINE float weight_max(int digits) { return digits == 2 ? 65535.f : 255.f; }
VEC_INLINE float weight_max_log2(int digits) { return digits == 2 ? 15.9999780f : 7.99435344f; }
#define LINEAR4_UNIT (1.f / 16) /* codes stay shifted up by 4 bits */

/* A transposition that shrinks as it goes. */
VEC_INLINE void row_tops(const int n, const __m512 *m, __m512 *top) {
    __m512 u[2];
    VEC_UNROLL(2) for (int k = 0; k < (n + 3) / 4; k++) {
        const __m512 m0 = m[4 * k], m1 = n > 1 ? m[4 * k + 1] : m0, m2 = n > 2 ? m[4 * k + 2] : m1, m3 = n > 3 ? m[4 * k + 3] : m2;
        const __m512 t0 = _mm512_max_ps(_mm512_unpacklo_ps(m0, m1), _mm512_unpackhi_ps(m0, m1));
        const __m512 t1 = _mm512_max_ps(_mm512_unpacklo_ps(m2, m3), _mm512_unpackhi_ps(m2, m3));
        u[k] = _mm512_max_ps(_mm512_shuffle_ps(t0, t1, 0x44), _mm512_shuffle_ps(t0, t1, 0xEE));
    }
    const __m512 v = n > 4 ? _mm512_max_ps(_mm512_shuffle_f32x4(u[0], u[1], 0x44), _mm512_shuffle_f32x4(u[0], u[1], 0xEE))
                           : _mm512_max_ps(u[0], _mm512_shuffle_f32x4(u[0], u[0], 0x4E));
    *top = _mm512_max_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
}

/* Halves without their signs order as integers. */
VEC_INLINE float largest_scale(const uint16_t *s, int lo, int hi) {
    const __mmask64 in = (hi < 64 ? (1ull << hi) - 1 : ~0ull) & (~0ull << lo);
    const __m512i mag = _mm512_set1_epi16(0x7fff);
    const __m512i x = _mm512_and_si512(_mm512_maskz_loadu_epi16((__mmask32)in, s), mag), y = _mm512_and_si512(_mm512_maskz_loadu_epi16((__mmask32)(in >> 32), s + 32), mag);
    const __m512i a = _mm512_max_epi16(x, y);
    const __m256i b = _mm256_max_epi16(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    return largest_of_8(_mm_max_epi16(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1)));
}

/* Dword lane i, byte b = token i + 16 b. */
VEC_INLINE void pack_one_digit(const __m512 *x, const __m512 *w, uint32_t *p) {
    const __m512 low = _mm512_set1_ps(8388608.f), high = _mm512_set1_ps(32768.5f); /* leave the integer in the lowest byte of the sum, and in the second */
    const __m512i v0 = _mm512_castps_si512(_mm512_fmadd_ps(x[0], w[0], low)), v1 = _mm512_castps_si512(_mm512_fmadd_ps(x[1], w[1], high));
    const __m512i v2 = _mm512_castps_si512(_mm512_fmadd_ps(x[2], w[2], low)), v3 = _mm512_castps_si512(_mm512_fmadd_ps(x[3], w[3], high));
    const __m512i low8 = _mm512_set1_epi32(0xff), low16 = _mm512_set1_epi32(0xffff);
    const __m512i a = _mm512_ternarylogic_epi32(low8, v0, v1, 0xCA), b = _mm512_ternarylogic_epi32(low8, v2, v3, 0xCA);
    _mm512_storeu_si512(p, _mm512_ternarylogic_epi32(low16, a, _mm512_slli_epi32(b, 16), 0xCA));
}

/* Digits [high, low]: dword lane i, byte b = token i + 16 b. */
VEC_INLINE void pack_two_digits(const __m512 *x, const __m512 *w, uint32_t *p) {
    const __m512 magic = _mm512_set1_ps(8388608.f); /* leaves the integer in the low bits of the sum */
    const __m512i low8 = _mm512_set1_epi16(0xff), low16 = _mm512_set1_epi32(0xffff);
    __m512i v[4];
    VEC_UNROLL(4) for (int t = 0; t < 4; t++) v[t] = _mm512_castps_si512(_mm512_fmadd_ps(x[t], w[t], magic));
    const __m512i even = _mm512_ternarylogic_epi32(low16, v[0], _mm512_slli_epi32(v[2], 16), 0xCA);
    const __m512i odd = _mm512_ternarylogic_epi32(low16, v[1], _mm512_slli_epi32(v[3], 16), 0xCA);
    _mm512_storeu_si512(p + 16, _mm512_ternarylogic_epi32(low8, even, _mm512_slli_epi16(odd, 8), 0xCA));
    _mm512_storeu_si512(p, _mm512_ternarylogic_epi32(low8, _mm512_srli_epi16(even, 8), odd, 0xCA));
}

VEC_INLINE void pack_weights(const int digits, const __m512 *x, const __m512 *w, uint32_t *p) {
    if (digits == 2) pack_two_digits(x, w, p);
    else pack_one_digit(x, w, p);
}

#include "attend_p.h"

ATTEND_INSTANCES(p_one, P_ONE)

const attend_phase ingot_attend_p_avx512[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_P_TABLE(p_one), ATTEND_P_TABLE(p_two)};
