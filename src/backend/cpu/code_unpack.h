/* Unpacks a chunk of at most 64 channels of a tile of canonical blocks, codes by a plan (code_plan.h), into the floats that the codec decodes to, bit for
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

VEC_INLINE code_lanes code_lanes_of_rows(const uint8_t *tile, int row_bytes, int t0) {
    return (code_lanes){tile + (ptrdiff_t)t0 * row_bytes, vi_lanes(row_bytes), row_bytes - 4};
}

VEC_INLINE code_lanes code_lanes_at(const code_part *p, const uint8_t *tile, int t0) {
    if (!p->s.token_stride) return code_lanes_of_rows(tile, p->block_bytes, t0);
    const uint8_t *block = tile + (ptrdiff_t)(t0 / p->tokens) * p->block_bytes;
    return (code_lanes){block + (ptrdiff_t)(t0 % p->tokens) * p->s.token_stride, vi_lanes(p->s.token_stride), p->s.code_at + p->s.token_stride - 4};
}

/* Of each token the word whose lowest byte is `byte`; the words stay within the blocks. */
VEC_INLINE vi code_words(const code_lanes *l, int byte) {
    if (byte <= l->last) return vi_gather(l->base + byte, l->offset);
    return vi_right(vi_gather(l->base + l->last, l->offset), vi_set(8 * (uint32_t)(byte - l->last)));
}

/* Of each token the scale of a group. */
VEC_INLINE vf code_scales(const code_part *p, const code_lanes *l, int g) {
    const vi w = code_words(l, p->s.scale_at + g * p->s.scale_stride);
    if (p->s.scale_kind == INGOT_SCALE_F16) return vi_halves(w);
    if (p->s.scale_kind == INGOT_SCALE_E4M3) return e4m3_floats(w);
    return vi_as_float(vi_left(vi_and(w, vi_set(0xff)), 23)); /* 2^-127 is as good as 0 here */
}

VEC_INLINE vf code_offsets(const code_part *p, const code_lanes *l, int g) {
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

/* Codes that a word holds, so that four words are read for as many whole bytes. */
VEC_INLINE int codes_per_word(int bits) { return bits <= 2 ? 16 : bits <= 4 ? 8 : 4; }

/* Channels [from, from + n) of a group, whose codes begin at code_at. */
VEC_INLINE void unpack_k_stream(const code_kind kind, const bool offset, const code_part *p, const code_levels *lv, const code_lanes *l, int code_at, int from, int n,
                                vf scale, vf shift, float *out) {
    const int bits = p->s.bits, per = codes_per_word(bits);
    const vi step = vi_set((uint32_t)bits);
    for (int c = from; c < from + n; c += per) {
        vi w = vi_right(code_words(l, code_at + c * bits / 8), vi_set((uint32_t)(c * bits % 8)));
        for (int i = 0; i < per; i += 4) {
            VEC_UNROLL(4) for (int k = 0; k < 4; k++, out += 64) {
                vf_store(out, code_value(kind, offset, lv, w, scale, shift));
                w = vi_right(w, step);
            }
        }
    }
}

/* A whole group of n = 16 or 32 channels in the order of ggml. */
VEC_INLINE void unpack_k_halves(const code_kind kind, const bool offset, const code_levels *lv, const code_lanes *l, int code_at, int n, vf scale, vf shift, float *out) {
    const bool five = kind == CODE_TABLE_32;
    const vi fifth = five ? code_words(l, code_at) : vi_set(0), step = vi_set(4);
    if (five) code_at += n / 8;
    for (int c = 0; c < n / 2; c += 4) {
        vi w = code_words(l, code_at + c);
        VEC_UNROLL(8) for (int i = 0; i < 8; i++) {
            const int channel = c + i / 2 + i % 2 * (n / 2);
            vf_store(out + channel * 64, code_value(kind, offset, lv, five ? vi_with_fifth(w, fifth, vi_set((uint32_t)channel)) : w, scale, shift));
            w = vi_right(w, step);
        }
    }
}

VEC_INLINE int shorter(int a, int b) { return a < b ? a : b; }

/* Scales of a token's groups of channels. */
VEC_INLINE void unpack_k_rows(const code_kind kind, const bool offset, const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_at(p, tile, t);
        for (int c = c0; c < c0 + channels;) {
            const int g = c / p->s.group, from = c - g * p->s.group, n = shorter(p->s.group - from, c0 + channels - c), code_at = p->s.code_at + g * p->s.code_stride;
            const vf scale = code_scales(p, &l, g), shift = offset ? code_offsets(p, &l, g) : vf_zero();
            float *o = out + (c - c0) * 64 + t;
            if (p->s.order == INGOT_ORDER_HALVES) unpack_k_halves(kind, offset, &lv, &l, code_at, n, scale, shift, o);
            else unpack_k_stream(kind, offset, p, &lv, &l, code_at, from, n, scale, shift, o);
            c += n;
        }
    }
}

/* Scales of a channel for all tokens of a block. */
VEC_INLINE void unpack_k_blocks(const code_kind kind, const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    const int bits = p->s.bits, per = codes_per_word(bits);
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

/* Where the codes of VW channels lie in the bytes that are loaded: 4 byte numbers a lane, and the bit in the word they make. */
typedef struct code_spread { vi from, shift; } code_spread;

/* Of codes `bits` apart; or, with half > 0, of nibbles: lane i the low one of byte i below half, then the high ones. */
VEC_INLINE code_spread code_spread_of(int bits, int half) {
    uint8_t from[VW * 4];
    uint32_t shift[VW];
    for (int i = 0; i < VW; i++) {
        const int at = half ? i % half * 8 + i / half * 4 : i * bits;
        for (int b = 0; b < 4; b++) from[4 * i + b] = (uint8_t)(at / 8 + b < 16 ? at / 8 + b : 15);
        shift[i] = (uint32_t)at % 8;
    }
    return (code_spread){vi_load(from), vi_load(shift)};
}

VEC_INLINE vi code_lift(const code_spread *sp, const uint8_t *p) { return vi_right(vi_spread(p, sp->from), sp->shift); }

VEC_INLINE void unpack_v_stream(const code_kind kind, const bool offset, const code_levels *lv, const code_spread *sp, int bits, const uint8_t *codes, int from, int n, vf scale,
                                vf shift, float *out) {
    for (int c = from; c < from + n; c += VW) vf_store(out + c - from, code_value(kind, offset, lv, code_lift(sp, codes + c * bits / 8), scale, shift));
}

/* A whole group of 32 channels, or of 16 with a spread of its own. */
VEC_INLINE void unpack_v_halves(const code_kind kind, const bool offset, const code_levels *lv, const code_spread *sp, const uint8_t *codes, int n, vf scale, vf shift, float *out) {
    const bool five = kind == CODE_TABLE_32;
    uint32_t fifth = 0;
    if (five) memcpy(&fifth, codes, 4);
    if (five) codes += n / 8;
    for (int c = 0; c < n; c += VW) {
        const bool high = VW <= n / 2 && c >= n / 2;
        vi code = code_lift(sp, codes + c % (n / 2));
        if (high) code = vi_right(code, vi_set(4));
        if (five) code = vi_with_fifth(code, vi_set(fifth), vi_add(vi_lanes(1), vi_set((uint32_t)c)));
        vf_store(out + c, code_value(kind, offset, lv, code, scale, shift));
    }
}

enum { SPREAD_BYTES = 16 }; /* what a spread may read from the first byte of the codes it wants on */

VEC_INLINE void unpack_v_rows(const code_kind kind, const bool offset, const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    const bool halves = p->s.order == INGOT_ORDER_HALVES;
    const code_spread of_32 = code_spread_of(p->s.bits, halves ? 16 : 0), of_16 = code_spread_of(p->s.bits, halves ? 8 : 0);
    const uint8_t *end = tile + 64 * (ptrdiff_t)p->block_bytes;
    float s[64], m[64];
    for (int c = c0; c < c0 + channels;) {
        const int g = c / p->s.group, from = c - g * p->s.group, n = shorter(p->s.group - from, c0 + channels - c), code_at = p->s.code_at + g * p->s.code_stride;
        for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
            const code_lanes l = code_lanes_at(p, tile, t);
            vf_store(s + t, code_scales(p, &l, g));
            if (offset) vf_store(m + t, code_offsets(p, &l, g));
        }
        for (int t = w.lo; t < w.hi; t++) {
            const uint8_t *codes = tile + (ptrdiff_t)t * p->block_bytes + code_at;
            const vf scale = vf_set(s[t]), shift = offset ? vf_set(m[t]) : vf_zero();
            uint8_t last[INGOT_MAX_HEAD_DIM + SPREAD_BYTES];
            if (codes + (from + n) * p->s.bits / 8 + SPREAD_BYTES > end) { /* the end of the tile is read from a copy */
                const size_t bytes = (size_t)(tile + (ptrdiff_t)(t + 1) * p->block_bytes - codes);
                memcpy(last, codes, bytes < sizeof last ? bytes : sizeof last);
                codes = last;
            }
            if (halves) unpack_v_halves(kind, offset, &lv, n == 32 ? &of_32 : &of_16, codes, n, scale, shift, out + t * 64 + c - c0);
            else unpack_v_stream(kind, offset, &lv, &of_32, p->s.bits, codes, from, n, scale, shift, out + t * 64 + c - c0);
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

static void unpack_k_codes(const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
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

static void unpack_v_codes(const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
#define V_ROWS(kind) unpack_v_rows(kind, false, p, tile, w, c0, channels, out)
#define V_ROWS_OFFSET(kind) unpack_v_rows(kind, true, p, tile, w, c0, channels, out)
    if (p->s.has_offset) FOR_KINDS(p->kind, V_ROWS_OFFSET)
    else FOR_KINDS(p->kind, V_ROWS)
#undef V_ROWS
#undef V_ROWS_OFFSET
}
#endif
