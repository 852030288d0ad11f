/* Unpacks a chunk of at most 64 channels of a tile of canonical blocks, codes by a plan, into the floats that the codec decodes to, bit for
 * bit: product, then sum. K as [channel][64 tokens], V as [64 tokens][64]; tokens outside of the window may stay as they were.
 * For files compiled for one instruction set. */
#ifndef INGOT_CPU_CODE_UNPACK_H
#define INGOT_CPU_CODE_UNPACK_H
#include "code_levels.h"
#include "cpu_kv.h"

/* VW tokens of a tile: lane i of token t0 + i is at `base` + its offset. */
typedef struct code_lanes {
    const uint8_t *base;
    vi offset;
    int last; /* where a word of 4 bytes may start, at most */
} code_lanes;

VEC_INLINE code_lanes code_lanes_at(const code_plan *p, const uint8_t *tile, int t0) {
    if (!p->s.token_stride) return (code_lanes){tile + (ptrdiff_t)t0 * p->block_bytes, vi_lanes(p->block_bytes), p->block_bytes - 4};
    const uint8_t *block = tile + (ptrdiff_t)(t0 / p->tokens) * p->block_bytes;
    return (code_lanes){block + (ptrdiff_t)(t0 % p->tokens) * p->s.token_stride, vi_lanes(p->s.token_stride), p->s.code_at + p->s.token_stride - 4};
}

/* Of each token the word whose lowest byte is `byte`; the words stay within the blocks. */
VEC_INLINE vi code_words(const code_lanes *l, int byte) {
    if (byte <= l->last) return vi_gather(l->base + byte, l->offset);
    return vi_right(vi_gather(l->base + l->last, l->offset), vi_set(8 * (uint32_t)(byte - l->last)));
}

/* Of each token the scale of a group. */
VEC_INLINE vf code_scales(const code_plan *p, const code_lanes *l, int g) {
    const vi w = code_words(l, p->s.scale_at + g * p->s.scale_stride);
    if (p->s.scale_kind == INGOT_SCALE_F16) return vi_halves(w);
    if (p->s.scale_kind == INGOT_SCALE_E4M3) return e4m3_floats(w);
    return vi_as_float(vi_left(vi_and(w, vi_set(0xff)), 23)); /* 2^-127 is as good as 0 here */
}

VEC_INLINE vf code_offsets(const code_plan *p, const code_lanes *l, int g) {
    return vi_halves(code_words(l, p->s.offset_at + g * p->s.offset_stride));
}

VEC_INLINE vf code_half(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return vf_set(_cvtsh_ss(h));
}

VEC_INLINE vf code_value(const code_kind kind, const bool offset, const code_levels *l, vi code, vf scale, vf shift) {
    const vf x = vf_mul(code_level(kind, l, code), scale);
    return offset ? vf_add(x, shift) : x;
}

/* --- K --- */

/* Channels [c, end) of one group, which begins at channel g0 with its codes at code_at, for VW tokens. A word holds the codes of `per` channels. */
VEC_INLINE void unpack_k_group(const code_kind kind, const bool offset, const code_plan *p, const code_levels *lv, const code_lanes *l, int code_at, int from, int n,
                               vf scale, vf shift, float *out) {
    const bool halves = p->s.order == INGOT_ORDER_HALVES;
    const int bits = p->s.bits, per = bits <= 2 ? 16 : bits <= 4 ? 8 : 4;
    const ptrdiff_t odd = halves ? 16 * 64 : 64, even = halves ? -15 * 64 : 64;
    const vi step = vi_set((uint32_t)bits);
    for (int c = from; c < from + n; c += per) {
        const int at = c * bits;
        vi w = vi_right(code_words(l, code_at + at / 8), vi_set((uint32_t)at % 8));
        float *o = out + (halves ? c / 32 * 32 + c % 32 / 2 - from : c - from) * 64;
        for (int i = 0; i < per; i += 4) {
            VEC_UNROLL(2) for (int j = 0; j < 2; j++) {
                vf_store(o, code_value(kind, offset, lv, w, scale, shift));
                w = vi_right(w, step);
                o += odd;
                vf_store(o, code_value(kind, offset, lv, w, scale, shift));
                w = vi_right(w, step);
                o += even;
            }
        }
    }
}

/* Scales of a token's groups of channels. */
VEC_INLINE void unpack_k_rows(const code_kind kind, const bool offset, const code_plan *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_at(p, tile, t);
        for (int c = c0; c < c0 + channels;) {
            const int g = c / p->s.group, left = (g + 1) * p->s.group - c, rest = c0 + channels - c, n = left < rest ? left : rest;
            const vf scale = code_scales(p, &l, g), shift = offset ? code_offsets(p, &l, g) : vf_zero();
            unpack_k_group(kind, offset, p, &lv, &l, p->s.code_at + g * p->s.code_stride, c - g * p->s.group, n, scale, shift, out + (c - c0) * 64 + t);
            c += n;
        }
    }
}

/* Scales of a channel for all tokens of a block. */
VEC_INLINE void unpack_k_blocks(const code_kind kind, const code_plan *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    const int bits = p->s.bits, per = bits <= 2 ? 16 : bits <= 4 ? 8 : 4;
    const vi step = vi_set((uint32_t)bits);
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_at(p, tile, t);
        const uint8_t *block = tile + (ptrdiff_t)(t / p->tokens) * p->block_bytes;
        for (int c = c0; c < c0 + channels; c += per) {
            vi words = vi_right(code_words(&l, p->s.code_at + c * bits / 8), vi_set((uint32_t)(c * bits % 8)));
            const uint8_t *scale = block + p->s.scale_at + c * p->s.scale_stride, *shift = block + p->s.offset_at + c * p->s.offset_stride;
            for (int i = 0; i < per; i++) {
                const vf x = code_value(kind, true, &lv, words, code_half(scale + i * p->s.scale_stride), code_half(shift + i * p->s.offset_stride));
                vf_store(out + (c - c0 + i) * 64 + t, x);
                words = vi_right(words, step);
            }
        }
    }
}

/* --- V --- */

/* Where the codes of VW channels lie: 4 byte numbers a lane, and the bit in the word they make. */
typedef struct code_spread { vi from, shift; } code_spread;

VEC_INLINE code_spread code_spread_of(const code_plan *p) {
    uint8_t from[VW * 4];
    uint32_t shift[VW];
    const bool halves = p->s.order == INGOT_ORDER_HALVES;
    for (int i = 0; i < VW; i++) {
        const int at = i * (halves ? 8 : p->s.bits);
        for (int b = 0; b < 4; b++) from[4 * i + b] = (uint8_t)(at / 8 + b < 16 ? at / 8 + b : 15);
        shift[i] = (uint32_t)at % 8;
    }
    return (code_spread){vi_load(from), vi_load(shift)};
}

/* Channels [from, from + n) of one group of one token. */
VEC_INLINE void unpack_v_group(const code_kind kind, const bool offset, const code_plan *p, const code_levels *lv, const code_spread *sp, const uint8_t *codes, int from,
                               int n, vf scale, vf shift, float *out) {
    const bool halves = p->s.order == INGOT_ORDER_HALVES;
    const vi high = vi_set(4);
    for (int c = from; c < from + n; c += VW) {
        vi code = vi_right(vi_spread(codes + (halves ? c % 16 : c * p->s.bits / 8), sp->from), sp->shift);
        if (halves && c % 32 >= 16) code = vi_right(code, high);
        vf_store(out + c - from, code_value(kind, offset, lv, code, scale, shift));
    }
}

enum { SPREAD_BYTES = 16 }; /* what a spread may read from the first byte of the codes it wants on */

VEC_INLINE void unpack_v_rows(const code_kind kind, const bool offset, const code_plan *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    const code_spread sp = code_spread_of(p);
    const uint8_t *end = tile + 64 * (ptrdiff_t)p->block_bytes;
    float s[64], m[64];
    for (int c = c0; c < c0 + channels;) {
        const int g = c / p->s.group, from = c - g * p->s.group, left = p->s.group - from, rest = c0 + channels - c, n = left < rest ? left : rest;
        for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
            const code_lanes l = code_lanes_at(p, tile, t);
            vf_store(s + t, code_scales(p, &l, g));
            if (offset) vf_store(m + t, code_offsets(p, &l, g));
        }
        const int code_at = p->s.code_at + g * p->s.code_stride;
        for (int t = w.lo; t < w.hi; t++) {
            const uint8_t *codes = tile + (ptrdiff_t)t * p->block_bytes + code_at;
            uint8_t last[INGOT_MAX_HEAD_DIM + SPREAD_BYTES];
            if (codes + (from + n) * p->s.bits / 8 + SPREAD_BYTES > end) { /* the end of the tile is read from a copy */
                const size_t bytes = (size_t)(tile + (ptrdiff_t)(t + 1) * p->block_bytes - codes);
                memcpy(last, codes, bytes < sizeof last ? bytes : sizeof last);
                codes = last;
            }
            unpack_v_group(kind, offset, p, &lv, &sp, codes, from, n, vf_set(s[t]), offset ? vf_set(m[t]) : vf_zero(), out + t * 64 + c - c0);
        }
        c += n;
    }
}

/* --- choice --- */

#define FOR_KINDS(kind, call)                                  \
    switch (kind) {                                            \
    case CODE_TABLE_8: call(CODE_TABLE_8); break;              \
    case CODE_TABLE_16: call(CODE_TABLE_16); break;            \
    case CODE_TABLE_32: call(CODE_TABLE_32); break;            \
    case CODE_TABLE_64: call(CODE_TABLE_64); break;            \
    case CODE_LINEAR: call(CODE_LINEAR); break;                \
    case CODE_E4M3: call(CODE_E4M3); break;                    \
    default: call(CODE_ANY); break;                            \
    }

static void unpack_k_codes(const code_plan *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
#define K_ROWS(kind) unpack_k_rows(kind, false, p, tile, w, c0, channels, out)
#define K_ROWS_OFFSET(kind) unpack_k_rows(kind, true, p, tile, w, c0, channels, out)
#define K_BLOCKS(kind) unpack_k_blocks(kind, p, tile, w, c0, channels, out)
    if (p->s.token_stride) FOR_KINDS(p->kind, K_BLOCKS)
    else if (p->s.has_offset) FOR_KINDS(p->kind, K_ROWS_OFFSET)
    else FOR_KINDS(p->kind, K_ROWS)
#undef K_ROWS
#undef K_ROWS_OFFSET
#undef K_BLOCKS
}

static void unpack_v_codes(const code_plan *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
#define V_ROWS(kind) unpack_v_rows(kind, false, p, tile, w, c0, channels, out)
#define V_ROWS_OFFSET(kind) unpack_v_rows(kind, true, p, tile, w, c0, channels, out)
    if (p->s.has_offset) FOR_KINDS(p->kind, V_ROWS_OFFSET)
    else FOR_KINDS(p->kind, V_ROWS)
#undef V_ROWS
#undef V_ROWS_OFFSET
}
#endif
