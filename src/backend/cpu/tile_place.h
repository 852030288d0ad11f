/* Puts codes, one a byte, where tile16.h has them. For files compiled for one instruction set. */
#ifndef INGOT_CPU_TILE_PLACE_H
#define INGOT_CPU_TILE_PLACE_H
#include "tile16.h"
#include "tile_lanes.h"

enum { PLACE_TOKENS = 16, PLACE_WORDS = TILE_MAX_DIM / 4 };

/* --- keys: a token's codes become dwords, which go into its lane of rows --- */

VEC_INLINE uint32_t word_at(const uint8_t *p) { uint32_t w; memcpy(&w, p, 4); return w; }

/* 32 channels of 3 bits. */
VEC_INLINE void pack_words_3(const uint8_t *codes, uint32_t *out) {
    const uint32_t last = word_at(codes + 24) | word_at(codes + 28) << 3;
    for (int j = 0; j < 3; j++) out[j] = word_at(codes + 8 * j) | word_at(codes + 8 * j + 4) << 3 | (last >> 2 * j & 0x03030303u) << 6;
}

/* Codes [dim] to words [dim * bits / 32]. */
VEC_INLINE void pack_words(int dim, int bits, uint8_t flip, const uint8_t *codes, uint32_t *words) {
    if (bits == 8)
        for (int c = 0; c < dim; c += 16) store_bytes_16((uint8_t *)(words + c / 4), flip_bytes(load_bytes_16(codes + c), flip));
    else if (bits == 4)
        for (int c = 0; c < dim; c += 16) pack_words_4(codes + c, words + c / 8);
    else if (bits == 3)
        for (int c = 0; c < dim; c += 32) pack_words_3(codes + c, words + c / 32 * 3);
    else
        for (int c = 0; c < dim; c += 16) words[c / 16] = word_at(codes + c) | word_at(codes + c + 4) << 2 | word_at(codes + c + 8) << 4 | word_at(codes + c + 12) << 6;
}

/* Tokens [slot, slot + n) of one block of 16. */
VEC_INLINE void place_keys(const tile16 *t, int bits, uint8_t *tile, int slot, int n, const uint8_t *codes) {
    uint32_t words[PLACE_TOKENS * PLACE_WORDS];
    const int n_words = t->dim * bits / 32, lane = slot % 16;
    uint8_t *rows = tile + t->codes + (size_t)(slot / 16) * (size_t)n_words * 64;
    for (int i = 0; i < n; i++) pack_words(t->dim, bits, t->flip ^ 0x80u, codes + i * t->dim, words + i * n_words);
    if (n == 16) {
        turn_lanes(words, n_words, rows);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int w = 0; w < n_words; w++) memcpy(rows + 64 * w + 4 * (lane + i), words + i * n_words + w, 4);
}

/* --- values: sixteen channels of a token become the bytes `slot / 16` of the lanes of a row --- */

/* What turns the codes of a group into the tile's. */
VEC_INLINE uint8_t value_flip(const tile16 *t, uint16_t scale) {
    if (t->kind != TILE_LINEAR4) return t->flip;
    return t->signed_scale && scale >> 15 ? 0x77 : 0x88;
}

VEC_INLINE bytes_16 pair_of(bytes_16 low, bytes_16 high, int bits) { return or_bytes(low, shift_bytes(high, bits)); }

VEC_INLINE void place_value_8(const tile16 *t, uint8_t *unit, int slot, const uint8_t *codes) {
    for (int c = 0; c < t->dim; c += 16, unit += 1024) store_lane_bytes(unit + slot % 16 * 64, slot / 16, flip_bytes(load_bytes_16(codes + c), t->flip));
}

VEC_INLINE void place_value_4(const tile16 *t, uint8_t *unit, int slot, const uint8_t *codes, const uint16_t *scales) {
    int c = 0;
    for (; c + 32 <= t->dim; c += 32, unit += 1024) {
        const bytes_16 pair = pair_of(load_bytes_16(codes + c), load_bytes_16(codes + c + 16), 4);
        store_lane_bytes(unit + slot % 16 * 64, slot / 16, flip_bytes(pair, value_flip(t, scales[c / t->group])));
    }
    if (c == t->dim) return;
    /* the last 16 channels, whose bytes hold two tokens */
    const bytes_16 last = flip_bytes(load_bytes_16(codes + c), value_flip(t, scales[c / t->group]) & 15u);
    const bool low = slot % 16 < 8;
    store_lane_bits(unit + slot % 8 * 64, slot / 16, low ? 0x0f : 0xf0, low ? last : shift_bytes(last, 4));
}

VEC_INLINE void place_value_3(const tile16 *t, uint8_t *triple, int slot, const uint8_t *codes) {
    const int byte = slot / 16;
    triple += slot % 8 * 192;
    for (int c = 0; c < t->dim; c += 64, triple += 8 * 192) {
        const bytes_16 first = pair_of(load_bytes_16(codes + c), load_bytes_16(codes + c + 16), 3);
        const bytes_16 second = pair_of(load_bytes_16(codes + c + 32), load_bytes_16(codes + c + 48), 3);
        if (slot % 16 < 8) {
            store_lane_bits(triple, byte, 0x3f, first);
            store_lane_bits(triple + 128, byte, 0x3f, second);
        } else {
            store_lane_bits(triple, byte, 0xc0, top_pair(second, 0));
            store_lane_bytes(triple + 64, byte, or_bytes(first, top_pair(second, 2)));
            store_lane_bits(triple + 128, byte, 0xc0, top_pair(second, 4));
        }
    }
}

VEC_INLINE void place_value_2(const tile16 *t, uint8_t *unit, int slot, const uint8_t *codes) {
    for (int c = 0; c < t->dim; c += 64, unit += 1024) {
        const bytes_16 low = pair_of(load_bytes_16(codes + c), load_bytes_16(codes + c + 16), 2);
        const bytes_16 high = pair_of(load_bytes_16(codes + c + 32), load_bytes_16(codes + c + 48), 2);
        store_lane_bytes(unit + slot % 16 * 64, slot / 16, pair_of(low, high, 4));
    }
}

VEC_INLINE void place_value(const tile16 *t, int bits, uint8_t *tile, int slot, const uint8_t *codes, const uint16_t *scales) {
    if (bits == 8) place_value_8(t, tile + t->codes, slot, codes);
    else if (bits == 4) place_value_4(t, tile + t->codes, slot, codes, scales);
    else if (bits == 3) place_value_3(t, tile + t->codes, slot, codes);
    else place_value_2(t, tile + t->codes, slot, codes);
}
#endif
