/* Canonical blocks into and out of the CPU's tiles. */
#include "tile16.h"
#include <string.h>

/* --- where an element lies --- */

/* A byte of a tile and the nibble in it (shift 0 or 4; 0 for whole bytes). */
typedef struct place { size_t byte; int shift; } place;

static place k_int4_place(const tile16 *t, int slot, int c) {
    const size_t row = (size_t)(slot / 16) * (size_t)(t->dim / 8) + (size_t)(c / 8);
    return (place){t->codes + row * 64 + (size_t)(slot % 16) * 4 + (size_t)(c % 4), c % 8 >= 4 ? 4 : 0};
}

static size_t k_q8_place(const tile16 *t, int slot, int c) {
    const size_t row = (size_t)(slot / 16) * (size_t)(t->dim / 4) + (size_t)(c / 4);
    return t->codes + row * 64 + (size_t)(slot % 16) * 4 + (size_t)(c % 4);
}

static place v_int4_place(const tile16 *t, int slot, int c) {
    const size_t unit = t->codes + (size_t)(c / 32) * 1024, lane = (size_t)(c % 16) * 4, byte = (size_t)(slot / 16);
    if (t->dim - c / 32 * 32 < 32) return (place){unit + (size_t)(slot % 8) * 64 + lane + byte, slot % 16 >= 8 ? 4 : 0};
    return (place){unit + (size_t)(slot % 16) * 64 + lane + byte, c % 32 >= 16 ? 4 : 0};
}

static size_t v_q8_place(const tile16 *t, int slot, int c) {
    return t->codes + (size_t)(c / 16) * 1024 + (size_t)(slot % 16) * 64 + (size_t)(c % 16) * 4 + (size_t)(slot / 16);
}

static uint8_t *half_at(const uint8_t *plane, size_t i) { return (uint8_t *)plane + 2 * i; }

/* --- f16 --- */

static uint8_t *k_f16_at(const ingot_kv_fmt *f, const uint8_t *tile, int slot, int c) {
    return half_at(tile, ((size_t)(slot / 16) * (size_t)f->dim + (size_t)c) * 16 + (size_t)(slot % 16));
}

static void k_f16_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) {
    for (int c = 0; c < f->dim; c++) memcpy((uint8_t *)row + 2 * c, k_f16_at(f, tile, slot, c), 2);
}

static void k_f16_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) {
    for (int c = 0; c < f->dim; c++) memcpy(k_f16_at(f, tile, slot, c), (const uint8_t *)row + 2 * c, 2);
}

static void v_f16_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) {
    memcpy(row, half_at(tile, (size_t)slot * (size_t)f->dim), (size_t)f->dim * 2);
}

static void v_f16_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) {
    memcpy(half_at(tile, (size_t)slot * (size_t)f->dim), row, (size_t)f->dim * 2);
}

/* --- q8_0: canonical blocks of a scale and up to 32 codes --- */

static uint8_t *q8_scale_at(const tile16 *t, const uint8_t *tile, bool k, int slot, int g) {
    return half_at(tile, k ? tile16_k_scale(t->n_groups, g, slot) : tile16_v_scale(g, slot));
}

/* K codes are kept with 128 added, which flips their top bit. */
static void q8_get(const ingot_kv_fmt *f, const uint8_t *tile, bool k, int slot, uint8_t *row) {
    const tile16 t = tile16_q8(f);
    for (int c = 0; c < t.dim; c++) {
        if (c % t.group == 0) {
            memcpy(row, q8_scale_at(&t, tile, k, slot, c / t.group), 2);
            row += 2;
        }
        *row++ = k ? tile[k_q8_place(&t, slot, c)] ^ 0x80u : tile[v_q8_place(&t, slot, c)];
    }
}

static void q8_set(const ingot_kv_fmt *f, uint8_t *tile, bool k, int slot, const uint8_t *row) {
    const tile16 t = tile16_q8(f);
    for (int c = 0; c < t.dim; c++) {
        if (c % t.group == 0) {
            memcpy(q8_scale_at(&t, tile, k, slot, c / t.group), row, 2);
            row += 2;
        }
        if (k) tile[k_q8_place(&t, slot, c)] = *row++ ^ 0x80u;
        else tile[v_q8_place(&t, slot, c)] = *row++;
    }
}

static void k_q8_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) { q8_get(f, tile, true, slot, row); }
static void v_q8_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) { q8_get(f, tile, false, slot, row); }
static void k_q8_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) { q8_set(f, tile, true, slot, row); }
static void v_q8_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) { q8_set(f, tile, false, slot, row); }

/* --- int4: canonical scales, mids, codes with the even channel in the low nibble --- */

static void int4_get(const ingot_kv_fmt *f, const uint8_t *tile, bool k, int slot, uint8_t *row) {
    const tile16 t = tile16_int4(f);
    uint8_t *codes = row + (size_t)t.n_groups * 4;
    for (int g = 0; g < t.n_groups; g++) {
        const size_t at = k ? tile16_k_scale(t.n_groups, g, slot) : tile16_v_scale(g, slot);
        memcpy(row + 2 * g, half_at(tile, at), 2);
        memcpy(row + 2 * (t.n_groups + g), half_at(tile + t.mids, at), 2);
    }
    for (int c = 0; c < t.dim; c++) {
        const place p = k ? k_int4_place(&t, slot, c) : v_int4_place(&t, slot, c);
        const unsigned code = (unsigned)(tile[p.byte] >> p.shift & 15) ^ (k ? 0u : 8u);
        codes[c / 2] = c & 1 ? (uint8_t)(codes[c / 2] | code << 4) : (uint8_t)code;
    }
}

static void int4_set(const ingot_kv_fmt *f, uint8_t *tile, bool k, int slot, const uint8_t *row) {
    const tile16 t = tile16_int4(f);
    const uint8_t *codes = row + (size_t)t.n_groups * 4;
    for (int g = 0; g < t.n_groups; g++) {
        const size_t at = k ? tile16_k_scale(t.n_groups, g, slot) : tile16_v_scale(g, slot);
        memcpy(half_at(tile, at), row + 2 * g, 2);
        memcpy(half_at(tile + t.mids, at), row + 2 * (t.n_groups + g), 2);
    }
    for (int c = 0; c < t.dim; c++) {
        const place p = k ? k_int4_place(&t, slot, c) : v_int4_place(&t, slot, c);
        const unsigned code = (unsigned)(codes[c / 2] >> (c & 1) * 4 & 15) ^ (k ? 0u : 8u);
        tile[p.byte] = (uint8_t)((tile[p.byte] & (0xf0u >> p.shift)) | code << p.shift);
    }
}

static void k_int4_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) { int4_get(f, tile, true, slot, row); }
static void v_int4_get(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *row) { int4_get(f, tile, false, slot, row); }
static void k_int4_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) { int4_set(f, tile, true, slot, row); }
static void v_int4_set(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *row) { int4_set(f, tile, false, slot, row); }

/* Units of V hold channels c and c + 16 under one scale, and the loops have room for that many groups. */
static bool int4_takes(const ingot_kv_fmt *f) { return f->group >= 32 || f->group == f->dim; }

static const ingot_tile_ops ops[2][INGOT_N_CODECS] = {
    [INGOT_SIDE_K] = {[INGOT_CODEC_F16] = {NULL, tile16_bytes, NULL, k_f16_get, k_f16_set},
                      [INGOT_CODEC_Q8_0] = {NULL, tile16_bytes, NULL, k_q8_get, k_q8_set},
                      [INGOT_CODEC_INT4] = {int4_takes, tile16_bytes, NULL, k_int4_get, k_int4_set}},
    [INGOT_SIDE_V] = {[INGOT_CODEC_F16] = {NULL, tile16_bytes, NULL, v_f16_get, v_f16_set},
                      [INGOT_CODEC_Q8_0] = {NULL, tile16_bytes, NULL, v_q8_get, v_q8_set},
                      [INGOT_CODEC_INT4] = {int4_takes, tile16_bytes, NULL, v_int4_get, v_int4_set}}};

bool tile16_has(const ingot_kv_fmt *f) {
    const ingot_tile_ops *o = &ops[INGOT_SIDE_K][f->codec];
    return o->bytes && (!o->takes || o->takes(f));
}

void tile16_init(ingot_tile_ops tile[2][INGOT_N_CODECS], const tile_put_fn put[2][INGOT_N_CODECS]) {
    for (int side = 0; side < 2; side++) {
        for (int c = 0; c < INGOT_N_CODECS; c++) {
            if (!ops[side][c].bytes) continue;
            tile[side][c] = ops[side][c];
            tile[side][c].put = put[side][c];
        }
    }
}
