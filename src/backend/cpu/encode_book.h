/* The nearest of 2 to 64 ascending levels: a binary search over the midpoints, which lie in registers. A value on a midpoint takes the upper level. */
#ifndef INGOT_CPU_ENCODE_BOOK_H
#define INGOT_CPU_ENCODE_BOOK_H
#include "encode_isa.h"

enum { BOOK_BITS = 6, BOOK_LEVELS = 1 << BOOK_BITS };

/* The midpoints, (a + b) / 2 in float as in the codecs. Behind them as many again, so that tables can start anywhere. */
static inline void find_midpoints(float *middle, int bits, const float *level) {
    for (int k = 0; k < 2 * BOOK_LEVELS; k++) middle[k] = 0.f;
    for (int k = 0; k + 1 < 1 << bits; k++) middle[k] = (level[k] + level[k + 1]) * 0.5f;
}

#if defined(__aarch64__)
/* All midpoints one after the other: lookups by lane would cost more. */
typedef struct book_search { float middle[2 * BOOK_LEVELS]; const float *level; } book_search;

VEC_INLINE void book_init(book_search *b, int bits, const float *level) {
    find_midpoints(b->middle, bits, level);
    b->level = level;
}
VEC_INLINE vi book_code(const book_search *b, int bits, vf u) {
    vi code = vdupq_n_u32(0);
    for (int k = 0; k + 1 < 1 << bits; k++) code = vsubq_u32(code, vcgeq_f32(u, vdupq_n_f32(b->middle[k])));
    return code;
}
VEC_INLINE vf book_level(const book_search *b, int bits, vi code) {
    (void)bits;
    const float x[4] = {b->level[vgetq_lane_u32(code, 0)], b->level[vgetq_lane_u32(code, 1)], b->level[vgetq_lane_u32(code, 2)], b->level[vgetq_lane_u32(code, 3)]};
    return vld1q_f32(x);
}
#elif defined(__AVX512F__)
/* For step 2^k: what a code found so far is compared with, by the code; with 6 bits, whose codes are still even then, by its half. */
typedef struct book_search { vf table[BOOK_BITS][2], level[4]; } book_search;

VEC_INLINE void book_init(book_search *b, int bits, const float *level) {
    float middle[2 * BOOK_LEVELS], table[32], padded[BOOK_LEVELS] = {0};
    find_midpoints(middle, bits, level);
    for (int k = 0; k < bits; k++) {
        for (int i = 0; i < 32; i++) table[i] = middle[(bits == 6 ? 2 * i : i) + (1 << k) - 1];
        b->table[k][0] = vf_load(table), b->table[k][1] = vf_load(table + 16);
    }
    memcpy(padded, level, sizeof(float) << bits);
    for (int i = 0; i < 4; i++) b->level[i] = vf_load(padded + 16 * i);
}
VEC_INLINE vi book_code(const book_search *b, int bits, vf u) {
    vi code = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(u, _mm512_broadcastss_ps(_mm512_castps512_ps128(b->table[bits - 1][0])), _CMP_GE_OQ), _mm512_set1_epi32(1 << (bits - 1)));
    for (int k = bits - 2; k >= 0; k--) {
        const vi at = bits == 6 ? _mm512_srli_epi32(code, 1) : code;
        const vf middle = bits <= 4 ? _mm512_permutexvar_ps(at, b->table[k][0]) : _mm512_permutex2var_ps(b->table[k][0], at, b->table[k][1]);
        code = _mm512_mask_or_epi32(code, _mm512_cmp_ps_mask(u, middle, _CMP_GE_OQ), code, _mm512_set1_epi32(1 << k));
    }
    return code;
}
VEC_INLINE vf book_level(const book_search *b, int bits, vi code) {
    if (bits <= 4) return _mm512_permutexvar_ps(code, b->level[0]);
    const vf low = _mm512_permutex2var_ps(b->level[0], code, b->level[1]);
    if (bits == 5) return low;
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(code, _mm512_set1_epi32(32)), low, _mm512_permutex2var_ps(b->level[2], code, b->level[3]));
}
#else
/* As with AVX-512, by halves of codes with 4 bits; beyond, lookups in memory. */
typedef struct book_search { vf table[4], low, high; float middle[2 * BOOK_LEVELS], level[BOOK_LEVELS]; } book_search;

VEC_INLINE void book_init(book_search *b, int bits, const float *level) {
    find_midpoints(b->middle, bits, level);
    memcpy(b->level, level, sizeof(float) << bits);
    if (bits > 4) return;
    for (int k = 0; k < bits; k++) {
        float table[8];
        for (int i = 0; i < 8; i++) table[i] = b->middle[(bits == 4 ? 2 * i : i) + (1 << k) - 1];
        b->table[k] = vf_load(table);
    }
    b->low = bits >= 3 ? vf_load(b->level) : _mm256_broadcast_ps((const __m128 *)(const void *)b->level);
    b->high = bits == 4 ? vf_load(b->level + 8) : b->low;
}
VEC_INLINE vi book_code(const book_search *b, int bits, vf u) {
    const vf first = _mm256_cmp_ps(u, vf_set(b->middle[(1 << (bits - 1)) - 1]), _CMP_GE_OQ);
    vi code = _mm256_and_si256(_mm256_castps_si256(first), _mm256_set1_epi32(1 << (bits - 1)));
    for (int k = bits - 2; k >= 0; k--) {
        const vf middle = bits <= 4 ? _mm256_permutevar8x32_ps(b->table[k], bits == 4 ? _mm256_srli_epi32(code, 1) : code) : _mm256_i32gather_ps(b->middle + (1 << k) - 1, code, 4);
        code = _mm256_or_si256(code, _mm256_and_si256(_mm256_castps_si256(_mm256_cmp_ps(u, middle, _CMP_GE_OQ)), _mm256_set1_epi32(1 << k)));
    }
    return code;
}
VEC_INLINE vf book_level(const book_search *b, int bits, vi code) {
    if (bits > 4) return _mm256_i32gather_ps(b->level, code, 4);
    const vf low = _mm256_permutevar8x32_ps(b->low, code);
    if (bits < 4) return low;
    return _mm256_blendv_ps(low, _mm256_permutevar8x32_ps(b->high, code), _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
}
#endif
#endif
