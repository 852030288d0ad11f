/* Where codes and scales lie in a tile16, one at a time: for canonical blocks in and out, and for codecs without a quick way in. */
#ifndef INGOT_CPU_TILE_BLOCKS_H
#define INGOT_CPU_TILE_BLOCKS_H
#include "tile16.h"
#include <string.h>

/* Codes [dim] of a token, one a byte, as the codec numbers them. On the V side of formats with signed scales the token's scales are in place. */
void tile16_get_codes(const tile16 *t, ingot_kv_side side, const uint8_t *tile, int slot, uint8_t *code);
void tile16_set_codes(const tile16 *t, ingot_kv_side side, uint8_t *tile, int slot, const uint8_t *code);

/* As ingot_tile_ops.put, by way of the codec's encode: for formats without a quick encoder. */
void tile16_put_blocks(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride);

/* A half of the scale plane (or, behind t->offsets, of the offset plane): of group g of the token in a slot, or of channel g of the slot's block. */
static inline uint8_t *tile16_half(const tile16 *t, ingot_kv_side side, const uint8_t *plane, int slot, int g) {
    if (t->tokens) return (uint8_t *)plane + 2 * ((size_t)(slot / t->tokens) * (size_t)t->dim + (size_t)g);
    return (uint8_t *)plane + 2 * (side == INGOT_SIDE_K ? tile16_k_scale(t->n_groups, g, slot) : tile16_v_scale(g, slot));
}
#endif
