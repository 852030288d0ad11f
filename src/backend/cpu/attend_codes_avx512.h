/* Codes of 16 lanes as the bytes that dot products of bytes take. AVX-512. */
#ifndef INGOT_CPU_ATTEND_CODES_AVX512_H
#define INGOT_CPU_ATTEND_CODES_AVX512_H
#include "attend_phase.h"

/* A table for each place that a code can have in the 6 bits which a lookup takes: bits 0-1, 2-3, 4-5 of 2-bit codes, 0-2 and 3-5 of 3-bit ones; 4-bit codes
 * are in the bits 0-3. So few codes have to be moved. */
typedef struct attend_book { __m512i table[3]; } attend_book;

VEC_INLINE int places_of(const tile_kind kind) { return kind == TILE_BOOK2 ? 3 : kind == TILE_BOOK3 ? 2 : kind == TILE_BOOK4 ? 1 : 0; }

/* Levels plus `excess`. */
VEC_INLINE attend_book attend_book_of(const tile_kind kind, const tile16 *t, const int excess) {
    static const uint64_t count[8] = {0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110, 0x1f1e1d1c1b1a1918,
                                      0x2726252423222120, 0x2f2e2d2c2b2a2928, 0x3736353433323130, 0x3f3e3d3c3b3a3938};
    const int bits = kind == TILE_BOOK2 ? 2 : kind == TILE_BOOK3 ? 3 : 4;
    const __m512i at = _mm512_loadu_si512(count), levels = _mm512_add_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const void *)t->level)), _mm512_set1_epi8((char)excess));
    attend_book b;
    VEC_UNROLL(3) for (int k = 0; k < places_of(kind); k++) {
        b.table[k] = _mm512_permutexvar_epi8(_mm512_and_si512(_mm512_srli_epi16(at, (unsigned)(k * bits)), _mm512_set1_epi8((char)((1 << bits) - 1))), levels);
    }
    return b;
}

/* Level of code k of each byte; the codes in the top bits of rows of 3-bit ones are not among them. */
VEC_INLINE __m512i book_code(const tile_kind kind, const attend_book *b, __m512i x, const int k) {
    if (kind == TILE_BOOK4) return _mm512_permutexvar_epi8(k ? _mm512_srli_epi16(x, 4) : x, b->table[0]);
    if (kind == TILE_BOOK3) return _mm512_permutexvar_epi8(x, b->table[k]);
    return _mm512_permutexvar_epi8(k < 3 ? x : _mm512_srli_epi16(x, 2), b->table[k < 3 ? k : 2]);
}

/* Code k of each byte of a K row, unsigned. */
VEC_INLINE __m512i k_code(const tile_kind kind, const attend_book *b, __m512i x, const int k) {
    if (kind == TILE_LINEAR8) return x;
    return kind == TILE_LINEAR4 ? _mm512_and_si512(k ? _mm512_srli_epi16(x, 4) : x, _mm512_set1_epi8(15)) : book_code(kind, b, x, k);
}

/* Code k of each byte of a V row, signed. Nibbles stay shifted up by 4 bits (the factor makes up for it): one operation less. */
VEC_INLINE __m512i v_code(const tile_kind kind, const attend_book *b, __m512i x, const int k) {
    if (kind == TILE_LINEAR8) return x;
    return kind == TILE_LINEAR4 ? _mm512_and_si512(k ? x : _mm512_slli_epi16(x, 4), _mm512_set1_epi8((char)0xf0)) : book_code(kind, b, x, k);
}

/* The codes in the top bits of three rows of 3-bit codes, moved to the low ones. */
VEC_INLINE __m512i top_of_3(__m512i a, __m512i b, __m512i c) {
    const __m512i two = _mm512_set1_epi8(3), four = _mm512_set1_epi8(15);
    const __m512i ab = _mm512_ternarylogic_epi32(two, _mm512_srli_epi16(a, 6), _mm512_srli_epi16(b, 4), 0xCA);
    return _mm512_ternarylogic_epi32(four, ab, _mm512_srli_epi16(c, 2), 0xCA);
}
#endif
