/* Codes of 8 lanes as the 16-bit numbers that vpmaddwd takes: of each quad of bytes 0 and 2, then 1 and 3. AVX2. */
#ifndef INGOT_CPU_ATTEND_BOOK_AVX2_H
#define INGOT_CPU_ATTEND_BOOK_AVX2_H
#include "attend_codes_avx2.h"

typedef struct attend_pairs { __m256i even, odd; } attend_pairs;

/* Bytes in two's complement, or unsigned. */
VEC_INLINE attend_pairs pairs_signed(__m256i x) { return (attend_pairs){_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), _mm256_srai_epi16(x, 8)}; }
VEC_INLINE attend_pairs pairs_unsigned(__m256i x) { return (attend_pairs){_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)}; }

/* The low (k = 0) or high nibbles. */
VEC_INLINE attend_pairs nibbles_unsigned(__m256i x, const int k) {
    const __m256i low = _mm256_set1_epi16(15);
    if (k == 0) return (attend_pairs){_mm256_and_si256(x, low), _mm256_and_si256(_mm256_srli_epi16(x, 8), low)};
    return (attend_pairs){_mm256_and_si256(_mm256_srli_epi16(x, 4), low), _mm256_srli_epi16(x, 12)};
}
VEC_INLINE attend_pairs nibbles_signed(__m256i x, const int k) {
    if (k == 0) return (attend_pairs){_mm256_srai_epi16(_mm256_slli_epi16(x, 12), 12), _mm256_srai_epi16(_mm256_slli_epi16(x, 4), 12)};
    return (attend_pairs){_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 12), _mm256_srai_epi16(x, 12)};
}

/* Levels of the codes that begin at bit `at` of each byte. */
VEC_INLINE attend_pairs pairs_of_book(__m256i book, __m256i x, const int at) { return pairs_signed(_mm256_shuffle_epi8(book, low_4_at(x, at))); }
#endif
