/* Sixteen bytes, rows of sixteen lanes of four bytes, and the turn of sixteen tokens' dwords into such rows. */
#ifndef INGOT_CPU_TILE_LANES_H
#define INGOT_CPU_TILE_LANES_H
#include "vec.h"
#include <string.h>

#if defined(__aarch64__)
typedef uint8x16_t bytes_16;
VEC_INLINE bytes_16 load_bytes_16(const uint8_t *p) { return vld1q_u8(p); }
VEC_INLINE void store_bytes_16(uint8_t *p, bytes_16 x) { vst1q_u8(p, x); }
VEC_INLINE bytes_16 or_bytes(bytes_16 a, bytes_16 b) { return vorrq_u8(a, b); }
VEC_INLINE bytes_16 flip_bytes(bytes_16 a, uint8_t flip) { return veorq_u8(a, vdupq_n_u8(flip)); }
/* Bytes that lose no bit. */
VEC_INLINE bytes_16 shift_bytes(bytes_16 a, int n) { return vshlq_u8(a, vdupq_n_s8((int8_t)n)); }
/* Bits `from` and from + 1 of each byte in its bits 6 and 7. */
VEC_INLINE bytes_16 top_pair(bytes_16 a, int from) { return vandq_u8(vshlq_u8(a, vdupq_n_s8((int8_t)(6 - from))), vdupq_n_u8(0xc0)); }

/* Byte b of the lanes of a row: all of it, or the bits in `mask`; others stay. */
VEC_INLINE void store_lane_bytes(uint8_t *row, int b, bytes_16 bytes) { for (int i = 0; i < 16; i++) row[4 * i + b] = bytes[i]; }
VEC_INLINE void store_lane_bits(uint8_t *row, int b, uint8_t mask, bytes_16 bytes) {
    for (int i = 0; i < 16; i++) row[4 * i + b] = (uint8_t)((row[4 * i + b] & ~mask) | bytes[i]);
}
#else
typedef __m128i bytes_16;
VEC_INLINE bytes_16 load_bytes_16(const uint8_t *p) { return _mm_loadu_si128((const void *)p); }
VEC_INLINE void store_bytes_16(uint8_t *p, bytes_16 x) { _mm_storeu_si128((void *)p, x); }
VEC_INLINE bytes_16 or_bytes(bytes_16 a, bytes_16 b) { return _mm_or_si128(a, b); }
VEC_INLINE bytes_16 flip_bytes(bytes_16 a, uint8_t flip) { return _mm_xor_si128(a, _mm_set1_epi8((char)flip)); }
VEC_INLINE bytes_16 shift_bytes(bytes_16 a, int n) { return _mm_slli_epi16(a, n); }
VEC_INLINE bytes_16 top_pair(bytes_16 a, int from) { return _mm_and_si128(_mm_slli_epi16(a, 6 - from), _mm_set1_epi8((char)0xc0)); }
#endif

/* Sixteen codes of 4 bits to two dwords: byte b = code b and 4 + b of eight. */
VEC_INLINE void pack_words_4(const uint8_t *codes, uint32_t *words) {
    for (int i = 0; i < 2; i++) {
        uint64_t w;
        memcpy(&w, codes + 8 * i, 8);
        words[i] = (uint32_t)(w | w >> 28);
    }
}

/* Words [16][n] to rows [n][16]. */
VEC_INLINE void turn_lanes_by_four(const uint32_t *words, int n, uint8_t *rows) {
    for (int i = 0; i < 16; i += 4) {
        int w = 0;
        for (; w + 4 <= n; w += 4) {
            const float *in[4];
            for (int j = 0; j < 4; j++) in[j] = (const float *)(const void *)(words + (i + j) * n + w);
            transpose_4(in, (float *)(void *)(rows + 64 * w + 4 * i), 16);
        }
        for (; w < n; w++)
            for (int j = 0; j < 4; j++) memcpy(rows + 64 * w + 4 * (i + j), words + (i + j) * n + w, 4);
    }
}

#if defined(__AVX512F__)
VEC_INLINE void store_lane_bytes(uint8_t *row, int b, bytes_16 bytes) {
    const __m512i v = _mm512_sll_epi32(_mm512_cvtepu8_epi32(bytes), _mm_cvtsi32_si128(8 * b));
    _mm512_mask_storeu_epi8(row, 0x1111111111111111ull << b, v);
}
VEC_INLINE void store_lane_bits(uint8_t *row, int b, uint8_t mask, bytes_16 bytes) {
    const __m512i v = _mm512_sll_epi32(_mm512_cvtepu8_epi32(bytes), _mm_cvtsi32_si128(8 * b)), m = _mm512_set1_epi32((int)((uint32_t)mask << 8 * b));
    _mm512_storeu_si512(row, _mm512_or_si512(_mm512_andnot_si512(m, _mm512_loadu_si512(row)), v));
}

/* Turns 16 x 16 dwords. */
VEC_INLINE void turn_16(__m512i x[16]) {
    __m512i y[16];
    VEC_UNROLL(4) for (int i = 0; i < 16; i += 4) { /* 4 x 4 within the 128-bit parts */
        const __m512i a = _mm512_unpacklo_epi32(x[i], x[i + 1]), b = _mm512_unpackhi_epi32(x[i], x[i + 1]);
        const __m512i c = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]), d = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
        y[i] = _mm512_unpacklo_epi64(a, c), y[i + 1] = _mm512_unpackhi_epi64(a, c);
        y[i + 2] = _mm512_unpacklo_epi64(b, d), y[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    VEC_UNROLL(4) for (int i = 0; i < 4; i++) { /* part p of y[4 j + i] becomes part j of x[4 p + i] */
        const __m512i a = _mm512_shuffle_i32x4(y[i], y[i + 4], 0x44), b = _mm512_shuffle_i32x4(y[i], y[i + 4], 0xee);
        const __m512i c = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0x44), d = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0xee);
        x[i] = _mm512_shuffle_i32x4(a, c, 0x88), x[i + 4] = _mm512_shuffle_i32x4(a, c, 0xdd);
        x[i + 8] = _mm512_shuffle_i32x4(b, d, 0x88), x[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

/* 16 floats of each of 16 vectors: out[c][i] = x[i * stride + c]. */
VEC_INLINE void turn_floats(const float *x, ptrdiff_t stride, float *out) {
    __m512i y[16];
    VEC_UNROLL(16) for (int i = 0; i < 16; i++) y[i] = _mm512_loadu_si512(x + i * stride);
    turn_16(y);
    VEC_UNROLL(16) for (int i = 0; i < 16; i++) _mm512_storeu_si512(out + 16 * i, y[i]);
}

VEC_INLINE void turn_lanes(const uint32_t *words, int n, uint8_t *rows) {
    if (n < 8) {
        turn_lanes_by_four(words, n, rows);
        return;
    }
    for (int w = 0; w < n; w += 16) {
        const int left = n - w < 16 ? n - w : 16;
        const __mmask16 there = (__mmask16)((1u << left) - 1);
        __m512i x[16];
        VEC_UNROLL(16) for (int i = 0; i < 16; i++) x[i] = _mm512_maskz_loadu_epi32(there, words + i * n + w);
        turn_16(x);
        if (left == 16) {
            VEC_UNROLL(16) for (int i = 0; i < 16; i++) _mm512_storeu_si512(rows + 64 * (w + i), x[i]);
        } else {
            VEC_UNROLL(16) for (int i = 0; i < 16; i++) _mm512_mask_storeu_epi32(rows + 64 * (w + (i < left ? i : 0)), (__mmask16)(i < left ? 0xffff : 0), x[i]);
        }
    }
}
#else
#if !defined(__aarch64__)
VEC_INLINE void store_lane_bits(uint8_t *row, int b, uint8_t mask, bytes_16 bytes) {
    const __m128i shift = _mm_cvtsi32_si128(8 * b);
    const __m256i m = _mm256_set1_epi32((int)((uint32_t)mask << 8 * b));
    for (int i = 0; i < 2; i++) {
        __m256i *at = (__m256i *)(void *)(row + 32 * i);
        const __m256i v = _mm256_sll_epi32(_mm256_cvtepu8_epi32(i ? _mm_srli_si128(bytes, 8) : bytes), shift);
        _mm256_storeu_si256(at, _mm256_or_si256(_mm256_andnot_si256(m, _mm256_loadu_si256(at)), v));
    }
}
VEC_INLINE void store_lane_bytes(uint8_t *row, int b, bytes_16 bytes) { store_lane_bits(row, b, 0xff, bytes); }
#endif
VEC_INLINE void turn_floats(const float *x, ptrdiff_t stride, float *out) {
    for (int i = 0; i < 16; i += 4)
        for (int c = 0; c < 16; c += 4) {
            const float *in[4];
            for (int j = 0; j < 4; j++) in[j] = x + (i + j) * stride + c;
            transpose_4(in, out + 16 * c + i, 16);
        }
}

VEC_INLINE void turn_lanes(const uint32_t *words, int n, uint8_t *rows) { turn_lanes_by_four(words, n, rows); }
#endif
#endif
