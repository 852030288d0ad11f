/* Plain floats and the formats with blocks of 32: one scale (and minimum) for 32 elements. */
#include "wtype_decode.h"
#include <string.h>

void ingot_wtype_decode_f32(const void *blocks, int64_t n, float *x) {
    if (n > 0) memcpy(x, blocks, (size_t)n * sizeof *x);
}

void ingot_wtype_decode_f16(const void *blocks, int64_t n, float *x) {
    const uint8_t *p = blocks;
    for (int64_t i = 0; i < n; i++) x[i] = ingot_wtype_half(p + 2 * i);
}

void ingot_wtype_decode_bf16(const void *blocks, int64_t n, float *x) {
    const uint8_t *p = blocks;
    for (int64_t i = 0; i < n; i++) x[i] = ingot_bf16_to_f32(ingot_le_u16(p + 2 * i));
}

/* f16 d | 16 bytes of nibbles; x = d (q - 8) */
void ingot_wtype_decode_q4_0(const void *blocks, int64_t n, float *x) {
    static const int8_t values[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 18) ingot_wtype_nibbles(b + 2, values, ingot_wtype_half(b), x + i);
}

/* f16 d, m | 16 bytes of nibbles; x = d q + m */
void ingot_wtype_decode_q4_1(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 20) {
        const float d = ingot_wtype_half(b), m = ingot_wtype_half(b + 2);
        for (int j = 0; j < 16; j++) {
            x[i + j] = d * (float)(b[4 + j] & 15) + m;
            x[i + j + 16] = d * (float)(b[4 + j] >> 4) + m;
        }
    }
}

/* f16 d | u32 fifth bits | 16 bytes of nibbles; x = d (q - 16) */
void ingot_wtype_decode_q5_0(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 22) {
        const float d = ingot_wtype_half(b);
        const uint32_t qh = ingot_le_u32(b + 2);
        for (int j = 0; j < 32; j++) x[i + j] = d * (float)(ingot_wtype_five_bits(b + 6, qh, j) - 16);
    }
}

/* f16 d, m | u32 fifth bits | 16 bytes of nibbles; x = d q + m */
void ingot_wtype_decode_q5_1(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 24) {
        const float d = ingot_wtype_half(b), m = ingot_wtype_half(b + 2);
        const uint32_t qh = ingot_le_u32(b + 4);
        for (int j = 0; j < 32; j++) x[i + j] = d * (float)ingot_wtype_five_bits(b + 8, qh, j) + m;
    }
}

/* f16 d | 32 int8; x = d q */
void ingot_wtype_decode_q8_0(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 34) {
        const float d = ingot_wtype_half(b);
        for (int j = 0; j < 32; j++) x[i + j] = d * (float)(int8_t)b[2 + j];
    }
}
