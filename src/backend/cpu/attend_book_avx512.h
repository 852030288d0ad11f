/* Books of levels in registers, and rows of codes as the bytes that dot products take. AVX-512. */
#ifndef INGOT_CPU_ATTEND_BOOK_AVX512_H
#define INGOT_CPU_ATTEND_BOOK_AVX512_H
#include "attend_dot_avx512.h"

/* A table for each place that a code can have in the 6 bits which a lookup takes: bits 0-1, 2-3, 4-5 of 2-bit codes, 0-2 and 3-5 of 3-bit ones; 4-bit codes
 * are always in the bits 0-3. So few codes have to be moved. */
typedef struct attend_book { __m512i table[3]; } attend_book;

VEC_INLINE int places_of(const tile_kind kind) { return kind == TILE_BOOK2 ? 3 : kind == TILE_BOOK3 ? 2 : kind == TILE_BOOK4 ? 1 : 0; }

/* Levels plus `excess`. */
VEC_INLINE attend_book attend_book_of(const tile_kind kind, const tile16 *t, int excess) {
    attend_book book = {0};
    const int bits = kind == TILE_BOOK2 ? 2 : kind == TILE_BOOK3 ? 3 : 4;
    for (int k = 0; k < places_of(kind); k++) {
        uint8_t x[64];
        for (int i = 0; i < 64; i++) x[i] = (uint8_t)(t->level[i >> k * bits & ((1 << bits) - 1)] + excess);
        book.table[k] = _mm512_loadu_si512(x);
    }
    return book;
}

VEC_INLINE __m512i book_at(const attend_book *book, int place, __m512i codes) { return _mm512_permutexvar_epi8(codes, book->table[place]); }

/* Codes k = 0 to 3 of a row of 2-bit codes. */
VEC_INLINE __m512i book_of_2(const attend_book *book, __m512i row, const int k) {
    return k < 3 ? book_at(book, k, row) : book_at(book, 2, _mm512_srli_epi16(row, 2));
}

/* The codes in the top bits of three rows of 3-bit codes, moved to the low ones. */
VEC_INLINE __m512i top_of_3(__m512i a, __m512i b, __m512i c) {
    const __m512i two = _mm512_set1_epi8(3), four = _mm512_set1_epi8(15);
    const __m512i ab = _mm512_ternarylogic_epi32(two, _mm512_srli_epi16(a, 6), _mm512_srli_epi16(b, 4), 0xCA);
    return _mm512_ternarylogic_epi32(four, ab, _mm512_srli_epi16(c, 2), 0xCA);
}
#endif
