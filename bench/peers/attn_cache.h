/* The keys and values that the measured operation reads: rows of normal numbers in one of ggml's types, repeated over
 * a cache of any length, and the answer that exact arithmetic gives on them. */
#ifndef INGOT_PEERS_ATTN_CACHE_H
#define INGOT_PEERS_ATTN_CACHE_H

#include "ggml.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum { LAYOUT_TOKENS, LAYOUT_HEADS } cache_layout;

typedef struct geometry {
    int64_t tokens;
    int heads, kv_heads, dim;
    cache_layout layout;
} geometry;

/* Writes the rows of one side of the cache, `tokens` x `kv_heads` rows of `dim` numbers in `type`, in the order that
 * the layout says; false without memory. */
bool cache_fill(void *out, const geometry *g, enum ggml_type type, bool values);

/* Writes the values, [kv_heads x dim][tokens] in f16: how the path without flash attention keeps them. */
bool cache_fill_transposed(ggml_fp16_t *out, const geometry *g);

/* Relative error, 2-norm over the first and the last head, of `out` [heads x dim] for `query` [heads x dim], against
 * attention in double precision on the numbers before they were quantised; negative without memory. */
double cache_error(const geometry *g, const float *query, const float *out);

/* `n` normal numbers, the same for the same seed on every machine with the same C library. */
void cache_normal(float *x, size_t n, uint64_t seed);

#endif
