#include "tile_blocks.h"
#include "../../codec/shape.h"

/* --- codes --- */

/* `n` bits from bit `shift` of a byte of a tile on. */
typedef struct place { size_t byte; int shift; } place;

static unsigned bits_at(const uint8_t *tile, place p, int n) { return tile[p.byte] >> p.shift & ((1u << n) - 1); }

static void set_bits_at(uint8_t *tile, place p, int n, unsigned x) {
    const unsigned mask = ((1u << n) - 1) << p.shift;
    tile[p.byte] = (uint8_t)((tile[p.byte] & ~mask) | x << p.shift);
}

/* Of 2, 4 and 8 bits. */
static place k_place(const tile16 *t, int slot, int c) {
    const int per_row = 32 / t->bits; /* channels of a row */
    const size_t row = (size_t)(slot / 16) * (size_t)(t->dim / per_row) + (size_t)(c / per_row);
    return (place){t->codes + row * 64 + (size_t)(slot % 16 * 4 + c % 4), c % per_row / 4 * t->bits};
}

static place v_place(const tile16 *t, int slot, int c) {
    const int per_unit = 128 / t->bits; /* channels of a unit */
    const size_t unit = t->codes + (size_t)(c / per_unit) * 1024, byte = (size_t)(c % 16 * 4 + slot / 16);
    if (t->dim - c / per_unit * per_unit < per_unit) return (place){unit + (size_t)(slot % 8) * 64 + byte, slot % 16 >= 8 ? 4 : 0}; /* 4 bits, the last 16 channels */
    return (place){unit + (size_t)(slot % 16) * 64 + byte, c % per_unit / 16 * t->bits};
}

/* 3 bits: the byte in the first of three rows, and which of its eight codes. */
static place k_place_of_3(const tile16 *t, int slot, int c) {
    const size_t triple = (size_t)(slot / 16) * (size_t)(t->dim / 32) + (size_t)(c / 32);
    return (place){t->codes + triple * 192 + (size_t)(slot % 16 * 4 + c % 4), c % 32 / 4};
}

static place v_place_of_3(const tile16 *t, int slot, int c) {
    const size_t triple = (size_t)(c / 64) * 8 + (size_t)(slot % 8);
    return (place){t->codes + triple * 192 + (size_t)(c % 16 * 4 + slot / 16), c % 64 / 32 * 4 + (slot % 16 >= 8 ? 2 : 0) + c % 32 / 16};
}

static unsigned get_3(const uint8_t *tile, place p) {
    const uint8_t *x = tile + p.byte;
    if (p.shift < 6) return x[p.shift / 2 * 64] >> p.shift % 2 * 3 & 7u;
    return (x[0] >> 6 | (x[64] >> 6) << 2 | (x[128] >> 6) << 4) >> (p.shift - 6) * 3 & 7u;
}

static void set_3(uint8_t *tile, place p, unsigned code) {
    if (p.shift < 6) {
        set_bits_at(tile, (place){p.byte + (size_t)(p.shift / 2 * 64), p.shift % 2 * 3}, 3, code);
        return;
    }
    for (int i = 0; i < 3; i++) {
        const int bit = (p.shift - 6) * 3 + i;
        set_bits_at(tile, (place){p.byte + (size_t)(bit / 2 * 64), 6 + bit % 2}, 1, code >> i & 1);
    }
}

static place place_of(const tile16 *t, ingot_kv_side side, int slot, int c) {
    if (t->bits == 3) return side == INGOT_SIDE_K ? k_place_of_3(t, slot, c) : v_place_of_3(t, slot, c);
    return side == INGOT_SIDE_K ? k_place(t, slot, c) : v_place(t, slot, c);
}

/* What turns a canonical code into the tile's, and back. */
static unsigned flip_of(const tile16 *t, ingot_kv_side side, const uint8_t *tile, int slot, int c) {
    if (t->kind == TILE_LINEAR8) return side == INGOT_SIDE_K ? t->flip ^ 0x80u : t->flip;
    if (t->kind != TILE_LINEAR4 || side == INGOT_SIDE_K) return 0;
    const uint8_t *scale = tile16_half(t, side, tile, slot, c / t->group);
    return t->signed_scale && scale[1] & 0x80 ? 7 : 8;
}

void tile16_get_codes(const tile16 *t, ingot_kv_side side, const uint8_t *tile, int slot, uint8_t *code) {
    for (int c = 0; c < t->dim; c++) {
        const place p = place_of(t, side, slot, c);
        code[c] = (uint8_t)((t->bits == 3 ? get_3(tile, p) : bits_at(tile, p, t->bits)) ^ flip_of(t, side, tile, slot, c));
    }
}

void tile16_set_codes(const tile16 *t, ingot_kv_side side, uint8_t *tile, int slot, const uint8_t *code) {
    for (int c = 0; c < t->dim; c++) {
        const place p = place_of(t, side, slot, c);
        const unsigned x = code[c] ^ flip_of(t, side, tile, slot, c);
        if (t->bits == 3) set_3(tile, p, x);
        else set_bits_at(tile, p, t->bits, x);
    }
}

/* --- blocks --- */

static void layout_of(const ingot_kv_fmt *f, tile16 *t, ingot_code_shape *s) {
    tile16_make(t, f);
    ingot_codec_get(f->codec)->shape(f, s);
}

static int n_scales(const tile16 *t) { return t->tokens ? t->dim : t->n_groups; }

static void get_block(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *block) {
    tile16 t;
    ingot_code_shape s;
    uint8_t code[INGOT_MAX_HEAD_DIM], *b = block;
    layout_of(f, &t, &s);
    for (int g = 0; g < n_scales(&t); g++) {
        memcpy(b + s.scale_at + g * s.scale_stride, tile16_half(&t, f->side, tile, slot, g), 2);
        if (t.has_offset) memcpy(b + s.offset_at + g * s.offset_stride, tile16_half(&t, f->side, tile + t.offsets, slot, g), 2);
    }
    for (int i = 0; i < (t.tokens ? t.tokens : 1); i++) {
        tile16_get_codes(&t, f->side, tile, slot + i, code);
        ingot_shape_set_codes(&s, f, code, i, block);
    }
}

static void set_block(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *block) {
    tile16 t;
    ingot_code_shape s;
    uint8_t code[INGOT_MAX_HEAD_DIM];
    const uint8_t *b = block;
    layout_of(f, &t, &s);
    for (int g = 0; g < n_scales(&t); g++) {
        memcpy(tile16_half(&t, f->side, tile, slot, g), b + s.scale_at + g * s.scale_stride, 2);
        if (t.has_offset) memcpy(tile16_half(&t, f->side, tile + t.offsets, slot, g), b + s.offset_at + g * s.offset_stride, 2);
    }
    for (int i = 0; i < (t.tokens ? t.tokens : 1); i++) {
        ingot_shape_get_codes(&s, f, block, i, code);
        tile16_set_codes(&t, f->side, tile, slot + i, code);
    }
}

void tile16_put_blocks(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    enum { MOST = TILE_TOKENS * TILE_MAX_DIM / 2 + 4 * TILE_MAX_DIM }; /* keys of 4 bits, one block a tile */
    uint8_t block[MOST];
    const int tokens = ingot_codec_tokens(f), end = slot + n;
    for (int at = slot; at < end;) {
        const int base = at / tokens * tokens, last = end < base + tokens ? end : base + tokens;
        ingot_codec_get(f->codec)->encode(f, x + (base - slot) * stride, stride, at - base, last - at, block);
        set_block(f, tile, base, block);
        at = last;
    }
}

/* --- f16: no planes --- */

static uint8_t *f16_at(const ingot_kv_fmt *f, const uint8_t *tile, int slot, int c) {
    const int k = (slot / 16 * f->dim + c) * 16 + slot % 16, v = slot * f->dim + c;
    return (uint8_t *)tile + 2 * (size_t)(f->side == INGOT_SIDE_K ? k : v);
}

static void f16_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) {
    for (int c = 0; c < f->dim; c++) memcpy((uint8_t *)row + 2 * c, f16_at(f, tile, slot, c), 2);
}

static void f16_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) {
    for (int c = 0; c < f->dim; c++) memcpy(f16_at(f, tile, slot, c), (const uint8_t *)row + 2 * c, 2);
}

void tile16_init(ingot_tile_ops tile[2][INGOT_N_CODECS], const tile_puts puts[2]) {
    for (int side = 0; side < 2; side++) {
        for (int c = 0; c < INGOT_N_CODECS; c++) {
            if (c == INGOT_CODEC_F16) tile[side][c] = (ingot_tile_ops){NULL, tile16_bytes, puts[side].f16, f16_get, f16_set};
            else if (ingot_codec_get(c)->shape) tile[side][c] = (ingot_tile_ops){tile16_has, tile16_bytes, puts[side].codes, get_block, set_block};
        }
    }
}
