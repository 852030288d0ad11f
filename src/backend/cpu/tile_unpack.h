/* Unpacks a chunk of at most 64 channels of a tile (tile16.h) into the floats that its codec decodes to, bit for bit: product, then sum. K as
 * [channel][64 tokens], V as [64 tokens][64]. A chunk starts at a multiple of 64. For files compiled for one instruction set. */
#ifndef INGOT_CPU_TILE_UNPACK_H
#define INGOT_CPU_TILE_UNPACK_H
#include "code_levels.h"
#include "tile16.h"
#include "vec.h"

/* --- f16 --- */

static void unpack_k_f16(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    for (int tb = 0; tb < 4; tb++) {
        const uint16_t *x = (const uint16_t *)(const void *)tile + ((ptrdiff_t)tb * f->dim + c0) * 16;
        for (int c = 0; c < channels; c++, x += 16) {
            for (int i = 0; i < 16; i += VW) vf_store(out + c * 64 + tb * 16 + i, vf_halves(x + i));
        }
    }
}

static void unpack_v_f16(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    const uint16_t *x = (const uint16_t *)(const void *)tile + c0;
    for (int t = 0; t < 64; t++, x += f->dim) {
        for (int c = 0; c < channels; c += VW) vf_store(out + t * 64 + c, vf_halves(x + c));
    }
}

/* --- integer codes --- */

/* A row (3 bits: three) of VW lanes as words whose bytes have a code in their low bits; how many there are. */
VEC_INLINE int tile_words(const int bits, const uint8_t *row, vi *w) {
    const vi a = vi_load(row);
    if (bits != 3) {
        VEC_UNROLL(4) for (int k = 0; k < 8 / bits; k++) w[k] = vi_right(a, vi_set((uint32_t)(k * bits)));
        return 8 / bits;
    }
    const vi b = vi_load(row + 64), c = vi_load(row + 128), three = vi_set(3);
    const vi top = vi_or(vi_and(vi_right(a, vi_set(6)), vi_set(0x03030303)), vi_or(vi_and(vi_right(b, vi_set(4)), vi_set(0x0c0c0c0c)), vi_and(vi_right(c, vi_set(2)), vi_set(0x30303030))));
    const vi x[4] = {a, b, c, top};
    VEC_UNROLL(4) for (int k = 0; k < 4; k++) w[2 * k] = x[k], w[2 * k + 1] = vi_right(x[k], three);
    return 8;
}

/* Level of the code in byte b. */
VEC_INLINE vf tile_level(const int bits, const code_levels *lv, vi w, int b) {
    if (bits == 8) return vf_byte_s(w, 8 * b);
    return code_level(bits == 4 ? CODE_TABLE_16 : CODE_TABLE_8, lv, vi_right(w, vi_set((uint32_t)(8 * b))));
}

VEC_INLINE vf tile_value(vf level, const bool offset, vf scale, vf shift) {
    const vf x = vf_mul(level, scale);
    return offset ? vf_add(x, shift) : x;
}

/* One quad of channels of VW tokens. */
VEC_INLINE void unpack_k_quad(const int bits, const tile16 *t, const code_levels *lv, vi w, const uint8_t *tile, int token, int channel, float *out) {
    if (bits == 8) w = vi_xor(w, vi_set(0x80808080u));
    if (!t->tokens) {
        const size_t at = tile16_k_scale(t->n_groups, channel / t->group, token);
        const vf scale = vf_halves((const uint16_t *)(const void *)tile + at);
        const vf shift = t->has_offset ? vf_halves((const uint16_t *)(const void *)(tile + t->offsets) + at) : vf_zero();
        VEC_UNROLL(4) for (int b = 0; b < 4; b++) vf_store(out + b * 64 + token, tile_value(tile_level(bits, lv, w, b), t->has_offset, scale, shift));
        return;
    }
    const uint16_t *scales = (const uint16_t *)(const void *)tile + token / t->tokens * t->dim + channel, *shifts = scales + t->offsets / 2;
    VEC_UNROLL(4) for (int b = 0; b < 4; b++) {
        const vf scale = vf_set(ingot_f16_to_f32(scales[b])), shift = vf_set(ingot_f16_to_f32(shifts[b]));
        vf_store(out + b * 64 + token, tile_value(tile_level(bits, lv, w, b), true, scale, shift));
    }
}

VEC_INLINE void unpack_k_bits(const int bits, const tile16 *t, const code_levels *lv, const uint8_t *tile, int c0, int channels, float *out) {
    const int step = bits == 3 ? 32 : 32 / bits, bytes = bits == 3 ? 192 : 64;
    for (int tb = 0; tb < 4; tb++) {
        const uint8_t *row = tile + t->codes + ((ptrdiff_t)tb * t->dim + c0) * 2 * bits;
        for (int c = 0; c < channels; c += step, row += bytes) {
            for (int i = 0; i < 16; i += VW) {
                vi w[8];
                const int n = tile_words(bits, row + i * 4, w);
                VEC_UNROLL(8) for (int k = 0; k < n; k++) unpack_k_quad(bits, t, lv, w[k], tile, tb * 16 + i, c0 + c + 4 * k, out + (c + 4 * k) * 64);
            }
        }
    }
}

/* Scales and offsets of the tokens in one group, and what turns a nibble of TILE_LINEAR4 into the codec's code. */
typedef struct v_scales { float scale[64], shift[64]; uint32_t flip[64]; } v_scales;

static void v_scales_of(const tile16 *t, const uint8_t *tile, int g, v_scales *s) {
    const size_t at = tile16_v_scale(g, 0);
    for (int i = 0; i < 64; i += VW) {
        vf_store(s->scale + i, vf_halves((const uint16_t *)(const void *)tile + at + i));
        vf_store(s->shift + i, t->has_offset ? vf_halves((const uint16_t *)(const void *)(tile + t->offsets) + at + i) : vf_zero());
    }
    if (t->kind == TILE_LINEAR4) for (int i = 0; i < 64; i++) s->flip[i] = t->signed_scale && ((const uint16_t *)(const void *)tile)[at + (size_t)i] >> 15 ? 7 : 8;
}

/* Row i of the tokens, VW channels: tokens i, i + 16, ... */
VEC_INLINE void unpack_v_word(const int bits, const tile16 *t, const code_levels *lv, const v_scales *s, vi w, int i, float *out) {
    VEC_UNROLL(4) for (int b = 0; b < 4; b++) {
        const int token = i + 16 * b;
        vf level;
        if (bits == 4 && t->kind == TILE_LINEAR4) level = code_level(CODE_TABLE_16, lv, vi_xor(vi_right(w, vi_set((uint32_t)(8 * b))), vi_set(s->flip[token])));
        else level = tile_level(bits, lv, w, b);
        vf_store(out + token * 64, tile_value(level, t->has_offset, vf_set(s->scale[token]), vf_set(s->shift[token])));
    }
}

VEC_INLINE void unpack_v_bits(const int bits, const tile16 *t, const code_levels *lv, const uint8_t *tile, int c0, int channels, float *out) {
    const int unit = bits == 3 ? 64 : 128 / bits, bytes = bits == 3 ? 192 : 64;
    int group = -1;
    v_scales s[2]; /* of channels up to 31 and from 32 on, of units that have so many */
    for (int c = 0; c < channels; c += unit) {
        const uint8_t *row = tile + t->codes + (ptrdiff_t)(c0 + c) * 8 * bits;
        const bool tail = bits == 4 && channels - c < unit; /* 4 bits: the high nibble is row i + 8 */
        const int g = (c0 + c) / t->group;
        if (g != group) v_scales_of(t, tile, g, &s[0]);
        if (unit == 64) v_scales_of(t, tile, (c0 + c + 32) / t->group, &s[1]);
        group = g;
        for (int i = 0; i < (bits == 3 || tail ? 8 : 16); i++, row += bytes) {
            for (int h = 0; h < 16; h += VW) {
                vi w[8];
                const int n = tile_words(bits, row + h * 4, w);
                float *o = out + c + h;
                VEC_UNROLL(8) for (int k = 0; k < n; k++) {
                    if (bits == 3) unpack_v_word(bits, t, lv, &s[k / 4], w[k], i + k / 2 % 2 * 8, o + k / 4 * 32 + k % 2 * 16);
                    else if (tail) unpack_v_word(bits, t, lv, &s[0], w[k], i + 8 * k, o);
                    else unpack_v_word(bits, t, lv, &s[bits == 2 ? k / 2 : 0], w[k], i, o + 16 * k);
                }
            }
        }
    }
}

#define TILE_UNPACK(name, bits)                                                                                                     \
    static void name##_##bits(const tile16 *t, const code_part *p, const uint8_t *tile, int c0, int channels, float *out) {          \
        const code_levels lv = code_levels_of(p);                                                                                   \
        name##_bits(bits, t, &lv, tile, c0, channels, out);                                                                         \
    }
TILE_UNPACK(unpack_k, 2)
TILE_UNPACK(unpack_k, 3)
TILE_UNPACK(unpack_k, 4)
TILE_UNPACK(unpack_k, 8)
TILE_UNPACK(unpack_v, 2)
TILE_UNPACK(unpack_v, 3)
TILE_UNPACK(unpack_v, 4)
TILE_UNPACK(unpack_v, 8)

typedef void (*tile_unpack_fn)(const tile16 *t, const code_part *p, const uint8_t *tile, int c0, int channels, float *out);
static const tile_unpack_fn tile_unpack_of[2][9] = {[INGOT_SIDE_K] = {[2] = unpack_k_2, [3] = unpack_k_3, [4] = unpack_k_4, [8] = unpack_k_8},
                                                    [INGOT_SIDE_V] = {[2] = unpack_v_2, [3] = unpack_v_3, [4] = unpack_v_4, [8] = unpack_v_8}};
#endif
