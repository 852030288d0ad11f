/* The packed attention with AVX-VNNI. */
#include "attend_dot_avxvnni.h"
#include "attend_query_avx2.h"

/* Digits: the high bytes of a quad, then the low ones; small numbers are low ones alone. */
VEC_INLINE void pack_query(__m256i i, const int digits, int32_t *out) {
    if (digits == 1) {
        pack_query_bytes(i, out);
        return;
    }
    const __m256i high = lowest_bytes(_mm256_srai_epi32(_mm256_add_epi32(i, _mm256_set1_epi32(128)), 8));
    const __m256i both = _mm256_unpacklo_epi32(high, lowest_bytes(i)); /* i - 256 * high, in the lowest byte */
    _mm_storel_epi64((void *)out, _mm256_castsi256_si128(both));
    _mm_storel_epi64((void *)(out + 2), _mm256_extracti128_si256(both, 1));
}
VEC_INLINE int code_excess(tile_kind kind, int digits) { return (void)digits, dot_excess(kind); }
VEC_INLINE void code_fit(tile16 *t) { (void)t; }

#include "attend_walk.h"

bool ingot_attend_packed_avxvnni(const ingot_attend_args *a) {
    static const attend_phases phases[2] = {{ingot_attend_k_avxvnni[0], ingot_attend_p_avxvnni[0], ingot_attend_v_avxvnni[0]},
                                            {ingot_attend_k_avxvnni[1], ingot_attend_p_avxvnni[1], ingot_attend_v_avxvnni[1]}};
    return attend_packed(a, phases);
}
