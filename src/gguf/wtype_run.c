/* Quantised rows as stored integers, 32 elements at a time. The layouts are described at the decoders. */
#include "wtype.h"
#include "wtype_decode.h"

static void nibbles(const uint8_t *qs, uint8_t *code) {
    for (int j = 0; j < 16; j++) {
        code[j] = qs[j] & 15;
        code[j + 16] = qs[j] >> 4;
    }
}

static void run_q4_0(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 18 * i;
    o->d = ingot_le_u16(b);
    nibbles(b + 2, o->code);
}

static void run_q4_1(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 20 * i;
    o->d = ingot_le_u16(b);
    o->m = ingot_le_u16(b + 2);
    nibbles(b + 4, o->code);
}

static void run_q5_0(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 22 * i;
    const uint32_t qh = ingot_le_u32(b + 2);
    o->d = ingot_le_u16(b);
    for (int j = 0; j < 32; j++) o->code[j] = (uint8_t)ingot_wtype_five_bits(b + 6, qh, j);
}

static void run_q5_1(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 24 * i;
    const uint32_t qh = ingot_le_u32(b + 4);
    o->d = ingot_le_u16(b);
    o->m = ingot_le_u16(b + 2);
    for (int j = 0; j < 32; j++) o->code[j] = (uint8_t)ingot_wtype_five_bits(b + 8, qh, j);
}

static void run_q8_0(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 34 * i;
    o->d = ingot_le_u16(b);
    for (int j = 0; j < 32; j++) o->code[j] = b[2 + j] ^ 0x80;
}

static void run_q2_k(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 84 * (i / 8);
    const int r = (int)(i % 8);
    const uint8_t *q = b + 16 + 32 * (r / 4);
    o->d = ingot_le_u16(b + 80);
    o->m = ingot_le_u16(b + 82);
    for (int h = 0; h < 2; h++) {
        o->scale[h] = b[2 * r + h] & 15;
        o->min[h] = b[2 * r + h] >> 4;
    }
    for (int j = 0; j < 32; j++) o->code[j] = q[j] >> 2 * (r % 4) & 3;
}

static void run_q3_k(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 110 * (i / 8);
    const int r = (int)(i % 8);
    const uint8_t *q = b + 32 + 32 * (r / 4);
    o->d = ingot_le_u16(b + 108);
    for (int h = 0; h < 2; h++) o->scale[h] = (uint8_t)ingot_wtype_q3_scale(b + 96, 2 * r + h);
    for (int j = 0; j < 32; j++) o->code[j] = (uint8_t)((q[j] >> 2 * (r % 4) & 3) | (b[j] >> r & 1) << 2);
}

static void k4_scales(const uint8_t *b, int r, ingot_wtype_run *o) {
    int scale, min;
    ingot_wtype_k4_scale_min(b + 4, r, &scale, &min);
    o->d = ingot_le_u16(b);
    o->m = ingot_le_u16(b + 2);
    o->scale[0] = o->scale[1] = (uint8_t)scale;
    o->min[0] = o->min[1] = (uint8_t)min;
}

static void run_q4_k(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 144 * (i / 8);
    const int r = (int)(i % 8);
    const uint8_t *q = b + 16 + 32 * (r / 2);
    k4_scales(b, r, o);
    for (int j = 0; j < 32; j++) o->code[j] = q[j] >> 4 * (r % 2) & 15;
}

static void run_q5_k(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 176 * (i / 8);
    const int r = (int)(i % 8);
    const uint8_t *high = b + 16, *q = b + 48 + 32 * (r / 2);
    k4_scales(b, r, o);
    for (int j = 0; j < 32; j++) o->code[j] = (uint8_t)((q[j] >> 4 * (r % 2) & 15) | (high[j] >> r & 1) << 4);
}

static void run_q6_k(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 210 * (i / 8);
    const int r8 = (int)(i % 8), half = r8 / 4, r = r8 % 4;
    const uint8_t *low = b + 64 * half + 32 * (r % 2), *high = b + 128 + 32 * half;
    o->d = ingot_le_u16(b + 208);
    for (int h = 0; h < 2; h++) o->scale[h] = b[192 + 2 * r8 + h];
    for (int j = 0; j < 32; j++) o->code[j] = (uint8_t)((low[j] >> 4 * (r / 2) & 15) | (high[j] >> 2 * r & 3) << 4);
}

static void run_iq4_xs(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 136 * (i / 8);
    const int r = (int)(i % 8), high = ingot_le_u16(b + 2);
    const int scale = (b[4 + r / 2] >> 4 * (r % 2) & 15) | (high >> 2 * r & 3) << 4;
    o->d = ingot_le_u16(b);
    o->scale[0] = o->scale[1] = (uint8_t)(scale - 32);
    nibbles(b + 8 + 16 * r, o->code);
}

static void run_mxfp4(const uint8_t *row, int64_t i, ingot_wtype_run *o) {
    const uint8_t *b = row + 17 * i;
    o->e = ingot_wtype_e8m0_half(b[0]);
    nibbles(b + 1, o->code);
}

ingot_wtype_run_fn ingot_wtype_run_reader(uint32_t type) {
    switch (type) {
    case INGOT_W_Q4_0: case INGOT_W_IQ4_NL: return run_q4_0; /* one layout */
    case INGOT_W_Q4_1: return run_q4_1;
    case INGOT_W_Q5_0: return run_q5_0;
    case INGOT_W_Q5_1: return run_q5_1;
    case INGOT_W_Q8_0: return run_q8_0;
    case INGOT_W_Q2_K: return run_q2_k;
    case INGOT_W_Q3_K: return run_q3_k;
    case INGOT_W_Q4_K: return run_q4_k;
    case INGOT_W_Q5_K: return run_q5_k;
    case INGOT_W_Q6_K: return run_q6_k;
    case INGOT_W_IQ4_XS: return run_iq4_xs;
    case INGOT_W_MXFP4: return run_mxfp4;
    default: return NULL;
    }
}

const int8_t *ingot_wtype_table(uint32_t type) {
    if (type == INGOT_W_IQ4_NL || type == INGOT_W_IQ4_XS) return ingot_wtype_iq4_values;
    return type == INGOT_W_MXFP4 ? ingot_wtype_fp4_values : NULL;
}
