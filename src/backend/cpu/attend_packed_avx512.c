/* The packed attention with AVX-512. */
#include "attend_dot_avx512.h"

/* Digits: the high bytes of a quad, then the low ones. */
VEC_INLINE void pack_query(__m512i i, int32_t (*out)[2]) {
    const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(128)), 8);
    const __m512i low = _mm512_sub_epi32(i, _mm512_slli_epi32(high, 8));
    int32_t digit[2][4];
    _mm_storeu_si128((void *)digit[0], _mm512_cvtepi32_epi8(high));
    _mm_storeu_si128((void *)digit[1], _mm512_cvtepi32_epi8(low));
    for (int j = 0; j < 4; j++) out[j][0] = digit[0][j], out[j][1] = digit[1][j];
}

/* Books are looked up with 128 added, nibbles are as stored. */
VEC_INLINE int code_excess(tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : 128; }

#include "attend_walk.h"

bool ingot_attend_packed_avx512(const ingot_attend_args *a) {
    static const attend_phases phases[2] = {{ingot_attend_k_avx512[0], ingot_attend_p_avx512[0], ingot_attend_v_avx512[0]},
                                            {ingot_attend_k_avx512[1], ingot_attend_p_avx512[1], ingot_attend_v_avx512[1]}};
    const int digits = a->fast ? 1 : 2;
    return attend_packed(a, &phases[digits - 1], digits);
}
