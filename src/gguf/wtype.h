/* Number formats of weights in GGUF files (ggml type numbers) and their scalar reference decoding. */
#ifndef INGOT_WTYPE_H
#define INGOT_WTYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ingot_wtype {
    INGOT_W_F32 = 0, INGOT_W_F16 = 1, INGOT_W_Q4_0 = 2, INGOT_W_Q4_1 = 3, INGOT_W_Q5_0 = 6, INGOT_W_Q5_1 = 7, INGOT_W_Q8_0 = 8,
    INGOT_W_Q2_K = 10, INGOT_W_Q3_K = 11, INGOT_W_Q4_K = 12, INGOT_W_Q5_K = 13, INGOT_W_Q6_K = 14,
    INGOT_W_IQ4_NL = 20, INGOT_W_IQ4_XS = 23, INGOT_W_BF16 = 30, INGOT_W_MXFP4 = 39
} ingot_wtype;

typedef struct ingot_wtype_info {
    int type;
    const char *name;       /* "Q4_K" */
    int block;              /* elements per block */
    int block_bytes;
    /* x [n] = the values of n elements (a multiple of block, 0 allowed); `blocks` needs no alignment. Bit for bit what ggml gives. */
    void (*decode)(const void *blocks, int64_t n, float *x);
} ingot_wtype_info;

/* NULL for a type this build does not know. */
const ingot_wtype_info *ingot_wtype_get(uint32_t type);
/* Walks the known types: i = 0, 1, ... until NULL. */
const ingot_wtype_info *ingot_wtype_at(int i);
/* Name of any ggml type number that exists or once existed, "unknown" otherwise (for messages). */
const char *ingot_wtype_any_name(uint32_t type);
/* True for numbers that ggml once used and has taken back (Q4_2, the interleaved Q4_0_4_4 family, ...). */
bool ingot_wtype_is_removed(uint32_t type);

/* 32 elements of a quantised row as the integers that are stored, for back ends that multiply integers. With d, m from f16 (d from `e` in MXFP4),
 * h = j / 16 and c[j] the code or, where the format has a table, its entry:
 *   Q4_0, Q5_0, Q8_0, IQ4_NL, MXFP4   x[j] = d (c[j] - zero)
 *   Q4_1, Q5_1                        x[j] = d c[j] + m
 *   Q3_K, Q6_K, IQ4_XS                x[j] = d scale[h] (c[j] - zero), scale signed
 *   Q2_K, Q4_K, Q5_K                  x[j] = d scale[h] c[j] - m min[h]
 * zero: Q4_0 8, Q5_0 16, Q8_0 128 (its codes are stored + 128), Q3_K 4, Q6_K 32, formats with a table 0. */
typedef struct ingot_wtype_run {
    uint8_t code[32];
    uint16_t d, m;
    float e;
    uint8_t scale[2], min[2];
} ingot_wtype_run;
/* Reads run i (elements 32 i .. 32 i + 31) of a row. */
typedef void (*ingot_wtype_run_fn)(const uint8_t *row, int64_t i, ingot_wtype_run *out);
/* NULL for float types and types this build does not know. */
ingot_wtype_run_fn ingot_wtype_run_reader(uint32_t type);
/* [16] values that the codes index, NULL for formats without. */
const int8_t *ingot_wtype_table(uint32_t type);
#endif
