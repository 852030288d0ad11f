/* The packed attention with AVX2. */
#include "attend_phase.h"

/* Pairs of s16: channels 0 and 2 of a quad, then 1 and 3. */
VEC_INLINE void pack_query(__m256i i, int digits, int32_t *out) {
    (void)digits;
    const __m256i late = _mm256_slli_epi32(_mm256_shuffle_epi32(i, 0x0e), 16), pair = _mm256_blend_epi16(i, late, 0xaa);
    _mm_storel_epi64((void *)out, _mm256_castsi256_si128(pair));
    _mm_storel_epi64((void *)(out + 2), _mm256_extracti128_si256(pair, 1));
}

/* Books are looked up as signed numbers. */
VEC_INLINE int code_excess(tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : kind == TILE_LINEAR8 ? 128 : 0; }

#include "attend_walk.h"

bool ingot_attend_packed_avx2(const ingot_attend_args *a) {
    static const attend_phases phases = {ingot_attend_k_avx2, ingot_attend_p_avx2, ingot_attend_v_avx2};
    return attend_packed(a, &phases, 2);
}
