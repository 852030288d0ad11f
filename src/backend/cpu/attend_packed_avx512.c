/* The packed attention with AVX-512. */
#include "attend_dot_avx512.h"

/* Digits: the high bytes of a quad, then the low ones; small numbers are low ones alone. */
VEC_INLINE void pack_query(__m512i i, const int digits, int32_t *out) {
    if (digits == 1) {
        _mm_storeu_si128((void *)out, _mm512_cvtepi32_epi8(i));
        return;
    }
    const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(128)), 8);
    const __m128i first = _mm512_cvtepi32_epi8(high), second = _mm512_cvtepi32_epi8(i); /* i - 256 * high, in the lowest byte */
    _mm_storeu_si128((void *)out, _mm_unpacklo_epi32(first, second));
    _mm_storeu_si128((void *)(out + 4), _mm_unpackhi_epi32(first, second));
}

VEC_INLINE int code_excess(tile_kind kind, int digits) { return (void)digits, dot_excess(kind); }
VEC_INLINE void code_fit(tile16 *t) { (void)t; }

#include "attend_walk.h"

bool ingot_attend_packed_avx512(const ingot_attend_args *a) {
    static const attend_phases phases[2] = {{ingot_attend_k_avx512[0], ingot_attend_p_avx512[0], ingot_attend_v_avx512[0]},
                                            {ingot_attend_k_avx512[1], ingot_attend_p_avx512[1], ingot_attend_v_avx512[1]}};
    return attend_packed(a, phases);
}
