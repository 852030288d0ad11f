/* Inside the weight formats: the decoders of the table in wtype.c, and what they share.
 * Block layouts are those of ggml (ggml-common.h); multi-byte fields are little-endian and not aligned. */
#ifndef INGOT_WTYPE_DECODE_H
#define INGOT_WTYPE_DECODE_H
#include "../base/half.h"
#include "../base/le.h"
#include <stdint.h>

void ingot_wtype_decode_f32(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_f16(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_bf16(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q4_0(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q4_1(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q5_0(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q5_1(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q8_0(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q2_k(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q3_k(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q4_k(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q5_k(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_q6_k(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_iq4_nl(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_iq4_xs(const void *blocks, int64_t n, float *x);
void ingot_wtype_decode_mxfp4(const void *blocks, int64_t n, float *x);

static inline float ingot_wtype_half(const uint8_t *p) { return ingot_f16_to_f32(ingot_le_u16(p)); }

/* 32 elements from 16 bytes through a table of 16 values: low nibbles are elements 0..15, high nibbles 16..31. */
static inline void ingot_wtype_nibbles(const uint8_t *qs, const int8_t values[16], float d, float *x) {
    for (int j = 0; j < 16; j++) {
        x[j] = d * (float)values[qs[j] & 15];
        x[j + 16] = d * (float)values[qs[j] >> 4];
    }
}

/* Element j (0..31) of a 5-bit block: nibble as in the 4-bit formats, fifth bit from bit j of qh. */
static inline int ingot_wtype_five_bits(const uint8_t *qs, uint32_t qh, int j) {
    const int low = j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;
    return low | (int)(qh >> j & 1u) << 4;
}

/* The 6-bit scale of group g of Q3_K: low nibbles in bytes 0..7 (two groups a byte, g and g + 8), high pairs in bytes 8..11. */
static inline int ingot_wtype_q3_scale(const uint8_t *s, int g) {
    const int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4;
    const int high = s[8 + g % 4] >> 2 * (g / 4) & 3;
    return (low | high << 4) - 32;
}

/* Scale and minimum of run r (0..7) of Q4_K and Q5_K: 6 bits each in 12 bytes. */
static inline void ingot_wtype_k4_scale_min(const uint8_t *s, int r, int *scale, int *min) {
    if (r < 4) {
        *scale = s[r] & 63;
        *min = s[r + 4] & 63;
    } else {
        *scale = (s[r + 4] & 15) | (s[r - 4] >> 6) << 4;
        *min = s[r + 4] >> 4 | (s[r] >> 6) << 4;
    }
}

extern const int8_t ingot_wtype_iq4_values[16], ingot_wtype_fp4_values[16];

/* Half of the E8M0 scale 2^(e - 127), which undoes the doubled table; exact down to the subnormal 2^-128, and 255 is no NaN
 * (both as in ggml). */
static inline float ingot_wtype_e8m0_half(uint8_t e) { return ingot_bits_f32(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23); }
#endif
