/* Unpacks a chunk of at most 64 channels of a tile into floats, the values its codecs decode to: K as [channel][64 tokens],
 * V as [64 tokens][64]. A chunk starts at a multiple of 64. For files compiled for one instruction set. */
#ifndef INGOT_CPU_TILE_UNPACK_H
#define INGOT_CPU_TILE_UNPACK_H
#include "tile16.h"
#include "vec.h"

static void unpack_k_f16(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    for (int tb = 0; tb < 4; tb++) {
        const uint16_t *x = (const uint16_t *)(const void *)tile + ((ptrdiff_t)tb * f->dim + c0) * 16;
        for (int c = 0; c < channels; c++, x += 16) {
            for (int i = 0; i < 16; i += VW) vf_store(out + c * 64 + tb * 16 + i, vf_halves(x + i));
        }
    }
}

static void unpack_k_q8(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    const tile16 t = tile16_q8(f);
    const uint16_t *scales = (const uint16_t *)(const void *)tile;
    for (int tb = 0; tb < 4; tb++) {
        const uint8_t *row = tile + t.codes + ((ptrdiff_t)tb * t.dim + c0) * 16;
        for (int c = 0; c < channels; c += 4, row += 64) {
            const uint16_t *s = scales + tile16_k_scale(t.n_groups, (c0 + c) / TILE_Q8_GROUP, tb * 16);
            for (int i = 0; i < 16; i += VW) {
                const vi v = vi_xor(vi_load(row + i * 4), vi_set(0x80808080u));
                const vf scale = vf_halves(s + i);
                VEC_UNROLL(4) for (int b = 0; b < 4; b++) vf_store(out + (c + b) * 64 + tb * 16 + i, vf_mul(vf_byte_s(v, 8 * b), scale));
            }
        }
    }
}

static void unpack_k_int4(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    const tile16 t = tile16_int4(f);
    const uint16_t *scales = (const uint16_t *)(const void *)tile, *mids = (const uint16_t *)(const void *)(tile + t.mids);
    for (int tb = 0; tb < 4; tb++) {
        const uint8_t *row = tile + t.codes + ((ptrdiff_t)tb * t.dim + c0) * 8;
        for (int c = 0; c < channels; c += 16, row += 128) {
            const size_t at = tile16_k_scale(t.n_groups, (c0 + c) / t.group, tb * 16);
            for (int i = 0; i < 16; i += VW) {
                const vf s = vf_halves(scales + at + i), m = vf_halves(mids + at + i);
                VEC_UNROLL(2) for (int j = 0; j < 2; j++) {
                    const vi v = vi_load(row + j * 64 + i * 4);
                    float *o = out + (c + j * 8) * 64 + tb * 16 + i;
                    VEC_UNROLL(4) for (int b = 0; b < 4; b++) {
                        vf_store(o + b * 64, vf_fma(vf_nibble_u(v, 8 * b), s, m));
                        vf_store(o + (b + 4) * 64, vf_fma(vf_nibble_u(v, 8 * b + 4), s, m));
                    }
                }
            }
        }
    }
}

static void unpack_v_f16(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    const uint16_t *x = (const uint16_t *)(const void *)tile + c0;
    for (int t = 0; t < 64; t++, x += f->dim) {
        for (int c = 0; c < channels; c += VW) vf_store(out + t * 64 + c, vf_halves(x + c));
    }
}

static void unpack_v_q8(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    const tile16 t = tile16_q8(f);
    const uint8_t *row = tile + t.codes + (ptrdiff_t)c0 * 64;
    float s[64];
    for (int c = 0; c < channels; c += 16) {
        const uint16_t *scales = (const uint16_t *)(const void *)tile + tile16_v_scale((c0 + c) / TILE_Q8_GROUP, 0);
        for (int i = 0; i < 64; i += VW) vf_store(s + i, vf_halves(scales + i));
        for (int i = 0; i < 16; i++, row += 64) {
            for (int h = 0; h < 16; h += VW) {
                const vi v = vi_load(row + h * 4);
                VEC_UNROLL(4) for (int b = 0; b < 4; b++) vf_store(out + (i + 16 * b) * 64 + c + h, vf_mul(vf_byte_s(v, 8 * b), vf_set(s[i + 16 * b])));
            }
        }
    }
}

/* The last 16 channels, two tokens in a byte. */
static void unpack_v_int4_tail(const uint8_t *row, const float *s, const float *m, float *o) {
    for (int i = 0; i < 8; i++, row += 64) {
        for (int h = 0; h < 16; h += VW) {
            const vi v = vi_load(row + h * 4);
            VEC_UNROLL(4) for (int b = 0; b < 4; b++) {
                const int t = i + 16 * b;
                vf_store(o + t * 64 + h, vf_fma(vf_nibble_s(v, 8 * b), vf_set(s[t]), vf_set(m[t])));
                vf_store(o + (t + 8) * 64 + h, vf_fma(vf_nibble_s(v, 8 * b + 4), vf_set(s[t + 8]), vf_set(m[t + 8])));
            }
        }
    }
}

static void unpack_v_int4(const ingot_kv_fmt *f, const uint8_t *tile, int c0, int channels, float *out) {
    const tile16 t = tile16_int4(f);
    float s[64], m[64];
    for (int c = 0; c < channels; c += 32) {
        const uint8_t *row = tile + t.codes + (ptrdiff_t)(c0 + c) * 32;
        float *o = out + c;
        const size_t at = tile16_v_scale((c0 + c) / t.group, 0);
        for (int i = 0; i < 64; i += VW) {
            vf_store(s + i, vf_halves((const uint16_t *)(const void *)tile + at + i));
            vf_store(m + i, vf_halves((const uint16_t *)(const void *)(tile + t.mids) + at + i));
        }
        if (channels - c < 32) {
            unpack_v_int4_tail(row, s, m, o);
            return;
        }
        for (int i = 0; i < 16; i++, row += 64) {
            for (int h = 0; h < 16; h += VW) {
                const vi v = vi_load(row + h * 4);
                VEC_UNROLL(4) for (int b = 0; b < 4; b++) {
                    const vf sc = vf_set(s[i + 16 * b]), mid = vf_set(m[i + 16 * b]);
                    vf_store(o + (i + 16 * b) * 64 + h, vf_fma(vf_nibble_s(v, 8 * b), sc, mid));
                    vf_store(o + (i + 16 * b) * 64 + 16 + h, vf_fma(vf_nibble_s(v, 8 * b + 4), sc, mid));
                }
            }
        }
    }
}

#endif
