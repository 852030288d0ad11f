/* Inside the weight formats: the decoders of the table in wtype.c, and what they share.
 * Block layouts are those of ggml (ggml-common.h); multi-byte fields are little-endian and not aligned. */
#ifndef INGOT_WTYPE_DECODE_H
#define INGOT_WTYPE_DECODE_H
#include "../base/half.h"
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

static inline uint16_t ingot_wtype_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t ingot_wtype_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline float ingot_wtype_half(const uint8_t *p) { return ingot_f16_to_f32(ingot_wtype_u16(p)); }

/* 32 elements from 16 bytes through a table of 16 values: low nibbles are elements 0..15, high nibbles 16..31. */
static inline void ingot_wtype_nibbles(const uint8_t *qs, const int8_t values[16], float d, float *x) {
    for (int j = 0; j < 16; j++) {
        x[j] = d * (float)values[qs[j] & 15];
        x[j + 16] = d * (float)values[qs[j] >> 4];
    }
}
#endif
