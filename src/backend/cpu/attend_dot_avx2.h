/* Dot products of bytes for the fast packed attention, AVX2 alone: vpmaddubsw leaves sums of two products in 16 bits. */
#ifndef INGOT_CPU_ATTEND_DOT_AVX2_H
#define INGOT_CPU_ATTEND_DOT_AVX2_H
#include "attend_codes_avx2.h"

typedef struct dot_sum { __m256i wide, part; } dot_sum;
VEC_INLINE dot_sum dot_start(int32_t x) { return (dot_sum){_mm256_set1_epi32(x), _mm256_setzero_si256()}; }
VEC_INLINE __m256 dot_float(dot_sum s) { return _mm256_cvtepi32_ps(s.wide); }
VEC_INLINE __m256 dot_float_2(dot_sum high, dot_sum low) { return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_slli_epi32(high.wide, 8), low.wide)); }

/* Quads whose products fit into 16 bits together (0: each is widened): with 127 or 255 on the other side 8 times codes of 0 to 15 or -8 to 7, 4 times
 * those of 0 to 31 or -15 to 15. */
VEC_INLINE int dot_quads(const tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : kind == TILE_BOOK2 ? 4 : 0; }
VEC_INLINE __m256i dot_widened(__m256i a, __m256i part) { return _mm256_add_epi32(a, _mm256_madd_epi16(part, _mm256_set1_epi16(1))); }
VEC_INLINE dot_sum dot_settle(dot_sum a) { return (dot_sum){dot_widened(a.wide, a.part), _mm256_setzero_si256()}; }

/* What a larger largest level is made: where sums have room for 63, the numbers with which TurboQuant's levels come nearest to integers (relative error
 * .0068 of 4 bits, .0036 of 3; 63 would be .0074 and .0079). */
VEC_INLINE float dot_level(const tile_kind kind) { return kind == TILE_BOOK2 ? 15 : kind == TILE_BOOK3 ? 62.25f : 63.2f; }
VEC_INLINE int dot_excess(const tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : kind == TILE_BOOK2 ? 16 : 64; }

VEC_INLINE dot_sum dot_lanes(const tile_kind kind, dot_sum a, __m256i u, __m256i s) {
    const __m256i products = _mm256_maddubs_epi16(u, s);
    if (dot_quads(kind)) a.part = _mm256_add_epi16(a.part, products);
    else a.wide = dot_widened(a.wide, products);
    return a;
}
VEC_INLINE dot_sum dot_broadcast(const tile_kind kind, dot_sum a, __m256i u, const int32_t *m) { return dot_lanes(kind, a, u, _mm256_set1_epi32(*m)); }

/* Code k of each byte of a V row, signed. */
VEC_INLINE __m256i v_code(const tile_kind kind, const attend_book *b, __m256i x, const int k) {
    const __m256i signs = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return kind == TILE_LINEAR4 ? _mm256_shuffle_epi8(signs, low_4_at(x, 4 * k)) : book_code(kind, b, x, k);
}

VEC_INLINE int k_rows_at_once(const int n, const int digits) { return (void)digits, n; }
VEC_INLINE int k_vectors_at_once(const int n, const int digits) { return (void)digits, n <= 1 ? 4 : n <= 2 ? 2 : 1; }
VEC_INLINE int v_rows_at_once(const int n, const int digits) { return (void)digits, n > 4 ? 4 : n; }
#endif
