/* Queries as bytes for dot products, 256-bit registers. */
#ifndef INGOT_CPU_ATTEND_QUERY_AVX2_H
#define INGOT_CPU_ATTEND_QUERY_AVX2_H
#include "attend_phase.h"

/* The lowest bytes of the four dwords of each half, in its lowest dword. */
VEC_INLINE __m256i lowest_bytes(__m256i i) {
    return _mm256_shuffle_epi8(i, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
}

/* Two quads of small numbers. */
VEC_INLINE void pack_query_bytes(__m256i i, int32_t *out) {
    const __m256i bytes = lowest_bytes(i);
    out[0] = _mm256_extract_epi32(bytes, 0);
    out[1] = _mm256_extract_epi32(bytes, 4);
}
#endif
