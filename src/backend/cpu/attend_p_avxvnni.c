/* Softmax phase of the packed attention, AVX-VNNI: weights as two u8 digits, or one. */
#include "attend_p_avx2.h"

/* Largest weight of a page as an integer, and its log2. */
VEC_INLINE float weight_max(int digits) { return digits == 2 ? 65535.f : 255.f; }
VEC_INLINE float weight_max_log2(int digits) { return digits == 2 ? 15.9999780f : 7.99435344f; }
#define LINEAR4_UNIT (1.f / 16) /* codes stay shifted up by 4 bits */

/* Digits [high, low]: dword lane i, byte b = token i + 16 b. */
VEC_INLINE void pack_weights(const int digits, const __m256 *x, const __m256 *w, uint32_t *p) {
    if (digits == 1) {
        pack_one_digit(x, w, p);
        return;
    }
    const __m256i low8 = _mm256_set1_epi16(0xff);
    VEC_UNROLL(2) for (int h = 0; h < 2; h++) {
        const weight_pairs v = weight_pairs_of(x, w, h);
        _mm256_storeu_si256((void *)(p + 16 + h * 8), _mm256_or_si256(_mm256_and_si256(v.even, low8), _mm256_slli_epi16(v.odd, 8)));
        _mm256_storeu_si256((void *)(p + h * 8), _mm256_or_si256(_mm256_srli_epi16(v.even, 8), _mm256_andnot_si256(low8, v.odd)));
    }
}

#include "attend_p.h"

ATTEND_INSTANCES(p_one, P_ONE)

const attend_phase ingot_attend_p_avxvnni[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_P_TABLE(p_one), ATTEND_P_TABLE(p_two)};
