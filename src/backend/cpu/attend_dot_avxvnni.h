/* Dot products of bytes for the packed attention, AVX-VNNI. */
#ifndef INGOT_CPU_ATTEND_DOT_AVXVNNI_H
#define INGOT_CPU_ATTEND_DOT_AVXVNNI_H
#include "attend_codes_avx2.h"

typedef __m256i dot_sum;
VEC_INLINE dot_sum dot_start(int32_t x) { return _mm256_set1_epi32(x); }
VEC_INLINE __m256 dot_float(dot_sum s) { return _mm256_cvtepi32_ps(s); }
VEC_INLINE __m256 dot_float_2(dot_sum high, dot_sum low) { return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_slli_epi32(high, 8), low)); }
VEC_INLINE dot_sum dot_broadcast(const tile_kind kind, dot_sum a, __m256i u, const int32_t *m) { return (void)kind, _mm256_dpbusd_avx_epi32(a, u, _mm256_set1_epi32(*m)); }
VEC_INLINE dot_sum dot_lanes(const tile_kind kind, dot_sum a, __m256i u, __m256i s) { return (void)kind, _mm256_dpbusd_avx_epi32(a, u, s); }
VEC_INLINE int dot_quads(const tile_kind kind) { return (void)kind, 0; }
VEC_INLINE dot_sum dot_settle(dot_sum a) { return a; }

/* Nibbles are as stored, all others made for it. */
VEC_INLINE int dot_excess(const tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : 128; }

/* Code k of each byte of a V row, signed. Nibbles stay shifted up by 4 bits (the factor makes up for it): one operation less. */
VEC_INLINE __m256i v_code(const tile_kind kind, const attend_book *b, __m256i x, const int k) {
    if (kind == TILE_LINEAR8) return x;
    return kind == TILE_LINEAR4 ? _mm256_and_si256(k ? x : _mm256_slli_epi16(x, 4), _mm256_set1_epi8((char)0xf0)) : book_code(kind, b, x, k);
}

/* In 16 registers. */
VEC_INLINE int k_rows_at_once(const int n, const int digits) { return n * digits > 8 ? 8 / digits : n; }
VEC_INLINE int k_vectors_at_once(const int n, const int digits) { return n * digits * 4 <= 8 ? 4 : n * digits * 2 <= 8 ? 2 : 1; }
VEC_INLINE int v_rows_at_once(const int n, const int digits) { return n * digits > 6 ? 4 / digits : n; }
#endif
