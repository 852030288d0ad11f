/* Rows of level codes: the tables of levels, and the decoder that every codec with an ingot_code_shape uses. */
#ifndef INGOT_CODEC_SHAPE_H
#define INGOT_CODEC_SHAPE_H
#include "codec.h"

/* Integers from -128 to 127. */
extern const float ingot_levels_int[256];
/* Codes of `bits` bits (at most 8) as signed numbers with the offset 2^(bits - 1): -8 to 7 for 4 bits. */
static inline const float *ingot_levels_centred(int bits) { return ingot_levels_int + 128 - (1 << (bits - 1)); }
/* Codes of at most 7 bits as they are: 0, 1, 2, ... */
static inline const float *ingot_levels_plain(void) { return ingot_levels_int + 128; }
/* Bytes in two's complement. */
extern const float ingot_levels_int8[256];
/* ggml's kvalues_iq4nl */
extern const float ingot_levels_iq4_nl[16];
/* FP8 E4M3 as ingot_e4m3_to_f32, FP4 E2M1. */
extern const float ingot_levels_e4m3[256], ingot_levels_e2m1[16];

/* Codes of token t of a block, one a byte: [f->dim], out of it and into it. */
void ingot_shape_get_codes(const ingot_code_shape *s, const ingot_kv_fmt *f, const void *block, int t, uint8_t *code);
void ingot_shape_set_codes(const ingot_code_shape *s, const ingot_kv_fmt *f, const uint8_t *code, int t, void *block);

/* row -> x [f->dim]: level[code] * scale, and + offset where the shape has one; both in float, each rounded. */
void ingot_shape_decode(const ingot_code_shape *s, const ingot_kv_fmt *f, const void *row, float *x);
#endif
