/* The packed attention with AVX2. */
#include "attend_dot_avx2.h"
#include "attend_query_avx2.h"

/* Pairs of s16: channels 0 and 2 of a quad, then 1 and 3; or bytes. */
VEC_INLINE void pack_query(__m256i i, const int digits, int32_t *out) {
    if (digits == 1) {
        pack_query_bytes(i, out);
        return;
    }
    const __m256i late = _mm256_slli_epi32(_mm256_shuffle_epi32(i, 0x0e), 16), pair = _mm256_blend_epi16(i, late, 0xaa);
    _mm_storel_epi64((void *)out, _mm256_castsi256_si128(pair));
    _mm_storel_epi64((void *)(out + 2), _mm256_extracti128_si256(pair, 1));
}

/* The precise loops look books up as signed numbers. */
VEC_INLINE int code_excess(tile_kind kind, int digits) {
    if (digits == 1) return dot_excess(kind);
    return kind == TILE_LINEAR4 ? 8 : kind == TILE_LINEAR8 ? 128 : 0;
}

/* Levels that are too large for sums of 16 bits, in larger units. */
static void code_fit(tile16 *t) {
    int top = 1;
    if (t->kind == TILE_LINEAR4 || t->kind == TILE_LINEAR8) return;
    for (int i = 0; i < TILE_LEVELS; i++) {
        const int x = t->level[i] < 0 ? -t->level[i] : t->level[i];
        if (x > top) top = x;
    }
    const float by = dot_level(t->kind) / (float)top;
    if (by >= 1) return;
    for (int i = 0; i < TILE_LEVELS; i++) {
        const float x = (float)t->level[i] * by;
        t->level[i] = (int8_t)(x < 0 ? x - 0.5f : x + 0.5f);
    }
    t->unit /= by;
}

#include "attend_walk.h"

bool ingot_attend_packed_avx2(const ingot_attend_args *a) {
    static const attend_phases phases[2] = {{ingot_attend_k_fast_avx2, ingot_attend_p_avx2[0], ingot_attend_v_fast_avx2},
                                            {ingot_attend_k_avx2, ingot_attend_p_avx2[1], ingot_attend_v_avx2}};
    return attend_packed(a, phases);
}
