/* The K formats: super-blocks of 256 elements with small integer scales for 16 or 32 elements under one f16 scale. */
#include "wtype_decode.h"

enum { SUPER = 256 };

/* 16 x (4-bit scale | 4-bit minimum << 4) | 64 bytes of 2-bit q | f16 d, dmin; x = d scale q - dmin minimum.
 * Group g of 16: half g / 8 has 32 bytes, the bit pair is (g / 2) % 4, the bytes are 16 (g % 2) .. */
void ingot_wtype_decode_q2_k(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += SUPER, b += 84) {
        const float d = ingot_wtype_half(b + 80), dmin = ingot_wtype_half(b + 82);
        for (int g = 0; g < 16; g++) {
            const float scale = d * (float)(b[g] & 15), min = dmin * (float)(b[g] >> 4);
            const uint8_t *q = b + 16 + 32 * (g / 8) + 16 * (g % 2);
            const int shift = 2 * (g / 2 % 4);
            for (int j = 0; j < 16; j++) x[i + 16 * g + j] = scale * (float)(q[j] >> shift & 3) - min;
        }
    }
}

/* 32 bytes of third bits | 64 bytes of 2-bit q | 12 bytes of 6-bit scales | f16 d;
 * x = d (scale - 32) (q - 4 when the third bit is clear). Pairs lie as in Q2_K; the third bit of run r of 32 is bit r of a byte. */
void ingot_wtype_decode_q3_k(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += SUPER, b += 110) {
        const float d = ingot_wtype_half(b + 108);
        for (int g = 0; g < 16; g++) {
            const float scale = d * (float)ingot_wtype_q3_scale(b + 96, g);
            const int at = 16 * (g % 2), shift = 2 * (g / 2 % 4);
            const uint8_t *q = b + 32 + 32 * (g / 8) + at, *high = b + at;
            for (int j = 0; j < 16; j++) {
                const int v = (q[j] >> shift & 3) - (high[j] >> (g / 2) & 1 ? 0 : 4);
                x[i + 16 * g + j] = scale * (float)v;
            }
        }
    }
}

/* f16 d, dmin | 12 bytes of scales and minima | 128 bytes of nibbles; x = d scale q - dmin minimum.
 * Run r of 32: bytes 32 (r / 2) .., low nibbles when r is even. */
void ingot_wtype_decode_q4_k(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += SUPER, b += 144) {
        const float d = ingot_wtype_half(b), dmin = ingot_wtype_half(b + 2);
        for (int r = 0; r < 8; r++) {
            int sc, mn;
            ingot_wtype_k4_scale_min(b + 4, r, &sc, &mn);
            const float scale = d * (float)sc, min = dmin * (float)mn;
            const uint8_t *q = b + 16 + 32 * (r / 2);
            for (int j = 0; j < 32; j++) x[i + 32 * r + j] = scale * (float)(q[j] >> 4 * (r % 2) & 15) - min;
        }
    }
}

/* f16 d, dmin | 12 bytes of scales and minima | 32 bytes of fifth bits | 128 bytes of nibbles; as Q4_K,
 * the fifth bit of run r is bit r of a byte. */
void ingot_wtype_decode_q5_k(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += SUPER, b += 176) {
        const float d = ingot_wtype_half(b), dmin = ingot_wtype_half(b + 2);
        for (int r = 0; r < 8; r++) {
            int sc, mn;
            ingot_wtype_k4_scale_min(b + 4, r, &sc, &mn);
            const float scale = d * (float)sc, min = dmin * (float)mn;
            const uint8_t *high = b + 16, *q = b + 48 + 32 * (r / 2);
            for (int j = 0; j < 32; j++) {
                const int v = (q[j] >> 4 * (r % 2) & 15) | (high[j] >> r & 1) << 4;
                x[i + 32 * r + j] = scale * (float)v - min;
            }
        }
    }
}

/* 128 bytes of low nibbles | 64 bytes of high pairs | 16 int8 scales | f16 d; x = d scale (q - 32).
 * Each half of 128 has 64 bytes of nibbles and 32 of pairs; run r (0..3) of a half: nibbles at 32 (r % 2), low when r < 2, pair r. */
void ingot_wtype_decode_q6_k(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += SUPER, b += 210) {
        const float d = ingot_wtype_half(b + 208);
        for (int g = 0; g < 16; g++) {
            const int half = g / 8, r = g / 2 % 4, at = 16 * (g % 2);
            const uint8_t *low = b + 64 * half + 32 * (r % 2) + at, *high = b + 128 + 32 * half + at;
            const float scale = d * (float)(int8_t)b[192 + g];
            for (int j = 0; j < 16; j++) {
                const int v = (low[j] >> 4 * (r / 2) & 15) | (high[j] >> 2 * r & 3) << 4;
                x[i + 16 * g + j] = scale * (float)(v - 32);
            }
        }
    }
}
