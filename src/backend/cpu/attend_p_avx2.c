/* Softmax phase of the packed attention, AVX2: weights as s16, or one u8 digit. */
#include "attend_p_avx2.h"

VEC_INLINE float weight_max(int digits) { return digits == 2 ? 32767.f : 255.f; }
VEC_INLINE float weight_max_log2(int digits) { return digits == 2 ? 14.9999560f : 7.99435344f; }
#define LINEAR4_UNIT 1.f

/* Pairs: dword lane i of the first 16 = tokens i, i + 32, of the second i + 16, i + 48. */
VEC_INLINE void pack_weights(const int digits, const __m256 *x, const __m256 *w, uint32_t *p) {
    if (digits == 1) {
        pack_one_digit(x, w, p);
        return;
    }
    VEC_UNROLL(2) for (int h = 0; h < 2; h++) {
        const weight_pairs v = weight_pairs_of(x, w, h);
        _mm256_storeu_si256((void *)(p + h * 8), v.even);
        _mm256_storeu_si256((void *)(p + 16 + h * 8), v.odd);
    }
}

#include "attend_p.h"

ATTEND_INSTANCES(p_one, P_ONE)

const attend_phase ingot_attend_p_avx2[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_P_TABLE(p_one), ATTEND_P_TABLE(p_two)};
