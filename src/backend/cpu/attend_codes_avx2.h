/* Codes of 8 lanes as the bytes that dot products of bytes take. For 256-bit registers. */
#ifndef INGOT_CPU_ATTEND_CODES_AVX2_H
#define INGOT_CPU_ATTEND_CODES_AVX2_H
#include "attend_phase.h"

/* Levels for lookups by the low 4 bits: of the code that begins at bit 0, and of the 2-bit code at bit 2. */
typedef struct attend_book { __m256i table[2]; } attend_book;

/* Levels plus `excess`. */
VEC_INLINE attend_book attend_book_of(const tile_kind kind, const tile16 *t, const int excess) {
    attend_book b;
    b.table[0] = _mm256_add_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)t->level)), _mm256_set1_epi8((char)excess));
    if (kind == TILE_BOOK2) b.table[1] = _mm256_shuffle_epi8(b.table[0], _mm256_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    return b;
}

/* Bits [at, at + 4) of each byte. */
VEC_INLINE __m256i low_4_at(__m256i x, const int at) { return _mm256_and_si256(at ? _mm256_srli_epi16(x, at) : x, _mm256_set1_epi8(15)); }

/* Level of code k of each byte; the codes in the top bits of rows of 3-bit ones are not among them. */
VEC_INLINE __m256i book_code(const tile_kind kind, const attend_book *b, __m256i x, const int k) {
    if (kind == TILE_BOOK2) return _mm256_shuffle_epi8(b->table[k % 2], low_4_at(x, k / 2 * 4));
    return _mm256_shuffle_epi8(b->table[0], low_4_at(x, k * (kind == TILE_BOOK3 ? 3 : 4)));
}

/* The codes in the top bits of three rows of 3-bit codes, moved to the low ones. */
VEC_INLINE __m256i top_of_3(__m256i a, __m256i b, __m256i c) {
    const __m256i x = _mm256_and_si256(_mm256_srli_epi16(a, 6), _mm256_set1_epi8(3)), y = _mm256_and_si256(_mm256_srli_epi16(b, 4), _mm256_set1_epi8(12));
    return _mm256_or_si256(_mm256_or_si256(x, y), _mm256_and_si256(_mm256_srli_epi16(c, 2), _mm256_set1_epi8(0x30)));
}

/* Code k of each byte of a K row, unsigned. */
VEC_INLINE __m256i k_code(const tile_kind kind, const attend_book *b, __m256i x, const int k) {
    if (kind == TILE_LINEAR8) return x;
    return kind == TILE_LINEAR4 ? low_4_at(x, 4 * k) : book_code(kind, b, x, k);
}
#endif
