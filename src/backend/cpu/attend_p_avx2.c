/* Softmax phase of the packed attention, AVX2: weights as s16. */
#include "attend_phase.h"

VEC_INLINE float weight_max(int digits) { return (void)digits, 32767.f; }
VEC_INLINE float weight_max_log2(int digits) { return (void)digits, 14.9999560f; }
#define LINEAR4_UNIT 1.f

VEC_INLINE void row_tops(const int n, const __m256 *m, __m256 *top) {
    float t[16];
    for (int i = 0; i < 16; i++) t[i] = VEC_FLOOR;
    VEC_UNROLL(8) for (int r = 0; r < n; r++) t[lane_of(r)] = vf_top(m[r]);
    top[0] = vf_load(t), top[1] = vf_load(t + 8);
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

/* Pairs: dword lane i of the first 16 = tokens i, i + 32, of the second i + 16, i + 48. */
VEC_INLINE void pack_weights(const int digits, const __m256 *x, const __m256 *w, uint32_t *p) {
    (void)digits;
    VEC_UNROLL(2) for (int h = 0; h < 2; h++) {
        __m256i v[4];
        VEC_UNROLL(4) for (int t = 0; t < 4; t++) v[t] = _mm256_cvtps_epi32(_mm256_mul_ps(x[2 * t + h], w[2 * t + h]));
        _mm256_storeu_si256((void *)(p + h * 8), _mm256_or_si256(v[0], _mm256_slli_epi32(v[2], 16)));
        _mm256_storeu_si256((void *)(p + 16 + h * 8), _mm256_or_si256(v[1], _mm256_slli_epi32(v[3], 16)));
    }
}

#include "attend_p.h"

const attend_phase ingot_attend_p_avx2[ATTEND_KINDS][BLOCK_SIZES] = ATTEND_P_TABLE(p_two);
