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
#endif
