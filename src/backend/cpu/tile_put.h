/* Encodes tokens straight into tiles: codes of up to 16 tokens as bytes first (row_encode.h), then put where they belong (tile_place.h).
 * For files compiled for one instruction set. */
#ifndef INGOT_CPU_TILE_PUT_H
#define INGOT_CPU_TILE_PUT_H
#include "encode_vec.h"
#include "tile_blocks.h"
#include "tile_place.h"

/* --- f16 --- */

static void put_k_f16(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    while (n > 0) {
        uint8_t *out = tile + ((ptrdiff_t)(slot / 16) * f->dim * 16 + slot % 16) * 2;
        const int lanes = n < 16 - slot % 16 ? n : 16 - slot % 16;
        float turned[256];
        uint16_t h[16];
        if (lanes == 16) {
            for (int c = 0; c < f->dim; c += 16) {
                turn_floats(x + c, stride, turned);
                for (int i = 0; i < 256; i += VW) store_halves((uint16_t *)(void *)out + c * 16 + i, clip(vf_load(turned + i)));
            }
        } else {
            for (int t = 0; t < lanes; t++)
                for (int c = 0; c < f->dim; c += 16) {
                    for (int i = 0; i < 16; i += VW) store_halves(h + i, clip(vf_load(x + t * stride + c + i)));
                    VEC_UNROLL(16) for (int i = 0; i < 16; i++) memcpy(out + 32 * (c + i) + 2 * t, &h[i], 2);
                }
        }
        slot += lanes, n -= lanes, x += lanes * stride;
    }
}

static void put_v_f16(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    for (int t = 0; t < n; t++) {
        uint16_t *out = (uint16_t *)(void *)tile + (ptrdiff_t)(slot + t) * f->dim;
        for (int c = 0; c < f->dim; c += VW) store_halves(out + c, clip(vf_load(x + t * stride + c)));
    }
}

/* --- codes --- */

/* Halves [n][groups] of tokens into a plane of the tile. */
VEC_INLINE void place_halves(const tile16 *t, bool keys, uint8_t *plane, int slot, int n, const uint16_t *halves) {
    uint16_t *out = (uint16_t *)(void *)plane;
    for (int g = 0; g < t->n_groups; g++) {
        uint16_t *at = out + (keys ? tile16_k_scale(t->n_groups, g, slot) : tile16_v_scale(g, slot));
        for (int i = 0; i < n; i++) at[i] = halves[i * t->n_groups + g];
    }
}

VEC_INLINE void place_codes(const tile16 *t, bool keys, int bits, uint8_t *tile, int slot, int n, const uint8_t *codes, const uint16_t *scales) {
    if (keys) place_keys(t, bits, tile, slot, n, codes);
    else
        for (int i = 0; i < n; i++) place_value(t, bits, tile, slot + i, codes + i * t->dim, scales + i * t->n_groups);
}

/* Tokens [slot, slot + n) of one run of 16. */
VEC_INLINE void put_run(const row_encoder *e, const ingot_kv_fmt *f, const tile16 *t, bool keys, int bits, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    uint8_t codes[ROW_ENCODE_TOKENS * TILE_MAX_DIM];
    uint16_t scales[ROW_ENCODE_GROUPS], offsets[ROW_ENCODE_GROUPS];
    e->row(f, x, stride, n, codes, scales, offsets);
    place_halves(t, keys, tile, slot, n, scales);
    if (t->has_offset) place_halves(t, keys, tile + t->offsets, slot, n, offsets);
    place_codes(t, keys, bits, tile, slot, n, codes, scales);
}

/* Keys [slot, slot + n) of one block whose scales belong to channels. */
VEC_INLINE void put_block(const row_encoder *e, const ingot_kv_fmt *f, const tile16 *t, int bits, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    uint8_t codes[TILE_TOKENS * TILE_MAX_DIM];
    const int base = slot / t->tokens * t->tokens;
    uint16_t *scales = (uint16_t *)(void *)tile16_half(t, INGOT_SIDE_K, tile, base, 0), *offsets = (uint16_t *)(void *)tile16_half(t, INGOT_SIDE_K, tile + t->offsets, base, 0);
    e->block(f, x + (base - slot) * stride, stride, slot - base, n, codes, scales, offsets);
    for (int i = 0; i < t->tokens; i += 16) place_keys(t, bits, tile, base + i, 16, codes + i * t->dim);
}

VEC_INLINE void put_codes(const row_encoder *e, const ingot_kv_fmt *f, const tile16 *t, bool keys, int bits, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    const int run = t->tokens ? t->tokens : 16;
    while (n > 0) {
        const int left = run - slot % run, m = n < left ? n : left;
        if (t->tokens) put_block(e, f, t, bits, tile, slot, m, x, stride);
        else put_run(e, f, t, keys, bits, tile, slot, m, x, stride);
        slot += m, n -= m, x += m * stride;
    }
}

/* The loops for each width of codes; formats without an encoder go by way of their blocks. */
VEC_INLINE void put_of_side(const row_encoder *table, const ingot_kv_fmt *f, bool keys, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    const row_encoder *e = &table[f->codec];
    tile16 t;
    if (!e->row) {
        tile16_put_blocks(f, tile, slot, n, x, stride);
        return;
    }
    tile16_make(&t, f);
    if (t.bits == 8) put_codes(e, f, &t, keys, 8, tile, slot, n, x, stride);
    else if (t.bits == 4) put_codes(e, f, &t, keys, 4, tile, slot, n, x, stride);
    else if (t.bits == 3) put_codes(e, f, &t, keys, 3, tile, slot, n, x, stride);
    else put_codes(e, f, &t, keys, 2, tile, slot, n, x, stride);
}

/* Defines `name`, with the encoders of `encoders`. */
#define TILE_PUTS(name, encoders)                                                                                                                \
    static void put_k(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {                                 \
        put_of_side(encoders, f, true, tile, slot, n, x, stride);                                                                                \
    }                                                                                                                                            \
    static void put_v(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {                                 \
        put_of_side(encoders, f, false, tile, slot, n, x, stride);                                                                               \
    }                                                                                                                                            \
    const tile_puts name[2] = {[INGOT_SIDE_K] = {put_k_f16, put_k}, [INGOT_SIDE_V] = {put_v_f16, put_v}};
#endif
