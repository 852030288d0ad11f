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
    return vf_set(half_to_float(h));
}

VEC_INLINE vf code_value(const code_kind kind, const bool offset, const code_levels *l, vi code, vf scale, vf shift) {
    const vf x = vf_mul(code_level(kind, l, code), scale);
    return offset ? vf_add(x, shift) : x;
}

/* --- K --- */

/* Channels [from, from + n) of a group for VW tokens, or all channels of all groups of blocks with channel scales. */
typedef void (*k_group_fn)(const code_part *p, const code_lanes *l, int code_at, int from, int n, vf scale, vf shift, float *out);

/* Codes that a word holds, so that a word begins within a byte at most 4 bits from its start. */
VEC_INLINE int codes_per_word(int bits) { return bits <= 2 ? 16 : bits <= 4 ? 8 : 4; }

VEC_INLINE void k_stream(const code_kind kind, const bool offset, const code_part *p, const code_lanes *l, int code_at, int from, int n, vf scale, vf shift, float *out) {
    const code_levels lv = code_levels_of(p);
    const int bits = p->s.bits, per = codes_per_word(bits);
    const vi step = vi_set((uint32_t)bits);
    for (int c = from; c < from + n; c += per) {
        vi w = vi_right(code_words(l, code_at + c * bits / 8), vi_set((uint32_t)(c * bits % 8)));
        for (int i = 0; i < per; i += 4) {
            VEC_UNROLL(4) for (int k = 0; k < 4; k++, out += 64) {
                vf_store(out, code_value(kind, offset, &lv, w, scale, shift));
                w = vi_right(w, step);
            }
        }
    }
}

/* A whole group of 16 or 32 channels in the order of ggml; from is 0. */
VEC_INLINE void k_halves(const code_kind kind, const bool offset, const code_part *p, const code_lanes *l, int code_at, int n, vf scale, vf shift, float *out) {
    const code_levels lv = code_levels_of(p);
    const bool five = kind == CODE_TABLE_32;
    const vi fifth = five ? code_words(l, code_at) : vi_set(0), step = vi_set(4);
    if (five) code_at += n / 8;
    for (int c = 0; c < n / 2; c += 4) {
        vi w = code_words(l, code_at + c);
        VEC_UNROLL(8) for (int i = 0; i < 8; i++) {
            const int channel = c + i / 2 + i % 2 * (n / 2);
            vf_store(out + channel * 64, code_value(kind, offset, &lv, five ? vi_with_fifth(w, fifth, vi_set((uint32_t)channel)) : w, scale, shift));
            w = vi_right(w, step);
        }
    }
}

VEC_INLINE int shorter(int a, int b) { return a < b ? a : b; }

/* Scales of a token's groups of channels. */
static void unpack_k_rows(const code_part *p, k_group_fn group, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_at(p, tile, t);
        for (int c = c0; c < c0 + channels;) {
            const int g = c / p->s.group, from = c - g * p->s.group, n = shorter(p->s.group - from, c0 + channels - c);
            const vf scale = code_scales(p, &l, g), shift = p->s.has_offset ? code_offsets(p, &l, g) : vf_zero();
            group(p, &l, p->s.code_at + g * p->s.code_stride, from, n, scale, shift, out + (c - c0) * 64 + t);
            c += n;
        }
    }
}

/* Scales of a channel for all tokens of a block; codes of at most 4 bits. */
static void unpack_k_blocks(const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const code_levels lv = code_levels_of(p);
    const int bits = p->s.bits, per = codes_per_word(bits);
    const vi step = vi_set((uint32_t)bits);
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_at(p, tile, t);
        const uint8_t *block = tile + (ptrdiff_t)(t / p->tokens) * p->block_bytes;
        for (int c = c0; c < c0 + channels; c += per) {
            vi words = vi_right(code_words(&l, p->s.code_at + c * bits / 8), vi_set((uint32_t)(c * bits % 8)));
            const uint8_t *scale = block + p->s.scale_at + c * p->s.scale_stride, *shift = block + p->s.offset_at + c * p->s.offset_stride;
            float *o = out + (c - c0) * 64 + t;
            for (int i = 0; i < per; i++, o += 64) {
                vf_store(o, code_value(CODE_TABLE_16, true, &lv, words, code_half(scale + i * p->s.scale_stride), code_half(shift + i * p->s.offset_stride)));
                words = vi_right(words, step);
            }
        }
    }
}

/* --- V --- */

/* The tokens of a window, and the scales and offsets of one of their groups. */
typedef struct v_tokens {
    const uint8_t *tile;
    cpu_window w;
    float scale[64], shift[64];
} v_tokens;

/* Channels [from, from + n) of a group; out [token][64]. */
typedef void (*v_group_fn)(const code_part *p, const v_tokens *v, int code_at, int from, int n, float *out);

/* Where the codes of VW channels lie in the bytes that are loaded: 4 byte numbers a lane, and the bit in the word they make. */
typedef struct code_spread { vi from, shift; } code_spread;

/* Lane i: the word that begins at the byte of bit bit[i]. */
VEC_INLINE code_spread code_spread_at(vi bit) {
    return (code_spread){vi_add(vi_mul(vi_right(bit, vi_set(3)), vi_set(0x01010101)), vi_set(0x03020100)), vi_and(bit, vi_set(7))};
}

/* Vectors that end at a whole byte, whatever the bits. */
enum { SPREADS = VW < 8 ? 8 / VW : 1 };

/* Of codes `bits` apart, vector s. */
VEC_INLINE code_spread code_spread_of(int bits, int s) { return code_spread_at(vi_add(vi_lanes(bits), vi_set((uint32_t)(s * VW * bits)))); }

/* Of nibbles: lane i the low one of byte i below half (8 or 16), then the high ones. */
VEC_INLINE code_spread code_spread_of_halves(int half) {
    const vi i = vi_lanes(1), byte = vi_and(i, vi_set((uint32_t)half - 1)), high = vi_and(vi_right(i, vi_set(half == 8 ? 3 : 4)), vi_set(1));
    return code_spread_at(vi_add(vi_left(byte, 3), vi_left(high, 2)));
}

VEC_INLINE vi code_lift(const code_spread *sp, const uint8_t *p) { return vi_right(vi_spread(p, sp->from), sp->shift); }

enum { SPREAD_BYTES = 16 }; /* what a spread may read from the first byte of the codes it wants on */

/* The first token whose `bytes` of codes at code_at have no room for that behind them in the tile. */
VEC_INLINE int first_unsafe(const code_part *p, int code_at, int bytes) {
    const int room = 64 * p->block_bytes - code_at - bytes - SPREAD_BYTES;
    return room < 0 ? 0 : room / p->block_bytes + 1;
}

/* Codes of a token at the end of the tile, with room behind them. */
static const uint8_t *copied(const code_part *p, const uint8_t *codes, int code_at, int bytes, uint8_t *room) {
    memcpy(room, codes, (size_t)shorter(p->block_bytes - code_at, bytes + SPREAD_BYTES));
    return room;
}

VEC_INLINE void v_stream(const code_kind kind, const bool offset, const code_part *p, const v_tokens *v, int code_at, int from, int n, float *out) {
    const code_levels lv = code_levels_of(p);
    const int bits = p->s.bits, at = code_at + from * bits / 8, unsafe = first_unsafe(p, at, n * bits / 8);
    code_spread sp[SPREADS];
    VEC_UNROLL(2) for (int s = 0; s < SPREADS; s++) sp[s] = code_spread_of(bits, s);
    uint8_t room[64 + SPREAD_BYTES];
    for (int t = v->w.lo; t < v->w.hi; t++) {
        const uint8_t *codes = v->tile + (ptrdiff_t)t * p->block_bytes + at;
        if (t >= unsafe) codes = copied(p, codes, at, n * bits / 8, room);
        const vf scale = vf_set(v->scale[t]), shift = vf_set(v->shift[t]);
        float *o = out + t * 64;
        for (int c = 0; c < n; c += SPREADS * VW) {
            VEC_UNROLL(2) for (int s = 0; s < SPREADS; s++) vf_store(o + c + s * VW, code_value(kind, offset, &lv, code_lift(&sp[s], codes + c * bits / 8), scale, shift));
        }
    }
}

/* A whole group of 16 or 32 channels in the order of ggml. */
VEC_INLINE void v_halves(const code_kind kind, const bool offset, const code_part *p, const v_tokens *v, int code_at, int n, float *out) {
    const code_levels lv = code_levels_of(p);
    const bool five = kind == CODE_TABLE_32;
    const int bytes = n * p->s.bits / 8, unsafe = first_unsafe(p, code_at, bytes);
    const code_spread sp = code_spread_of_halves(n / 2);
    uint8_t room[64 + SPREAD_BYTES];
    for (int t = v->w.lo; t < v->w.hi; t++) {
        const uint8_t *codes = v->tile + (ptrdiff_t)t * p->block_bytes + code_at;
        if (t >= unsafe) codes = copied(p, codes, code_at, bytes, room);
        const vf scale = vf_set(v->scale[t]), shift = vf_set(v->shift[t]);
        float *o = out + t * 64;
        uint32_t fifth = 0;
        if (five) memcpy(&fifth, codes, 4);
        if (five) codes += n / 8;
        for (int c = 0; c < n; c += VW) {
            vi code = code_lift(&sp, codes + c % (n / 2));
            if (VW <= n / 2 && c >= n / 2) code = vi_right(code, vi_set(4));
            if (five) code = vi_with_fifth(code, vi_set(fifth), vi_add(vi_lanes(1), vi_set((uint32_t)c)));
            vf_store(o + c, code_value(kind, offset, &lv, code, scale, shift));
        }
    }
}

static void unpack_v_rows(const code_part *p, v_group_fn group, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    v_tokens v = {.tile = tile, .w = w};
    for (int c = c0; c < c0 + channels;) {
        const int g = c / p->s.group, from = c - g * p->s.group, n = shorter(p->s.group - from, c0 + channels - c);
        for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
            const code_lanes l = code_lanes_at(p, tile, t);
            vf_store(v.scale + t, code_scales(p, &l, g));
            if (p->s.has_offset) vf_store(v.shift + t, code_offsets(p, &l, g));
        }
        group(p, &v, p->s.code_at + g * p->s.code_stride, from, n, out + c - c0);
        c += n;
    }
}

/* --- instances --- */

#define GROUP_INSTANCE(kind, offset)                                                                                                                      \
    static void k_stream_##kind##_##offset(const code_part *p, const code_lanes *l, int code_at, int from, int n, vf scale, vf shift, float *out) {       \
        k_stream(kind, offset, p, l, code_at, from, n, scale, shift, out);                                                                               \
    }                                                                                                                                                    \
    static void v_stream_##kind##_##offset(const code_part *p, const v_tokens *v, int code_at, int from, int n, float *out) {                             \
        v_stream(kind, offset, p, v, code_at, from, n, out);                                                                                             \
    }
#define HALVES_INSTANCE(kind, offset)                                                                                                                     \
    static void k_halves_##kind##_##offset(const code_part *p, const code_lanes *l, int code_at, int from, int n, vf scale, vf shift, float *out) {       \
        (void)from;                                                                                                                                      \
        k_halves(kind, offset, p, l, code_at, n, scale, shift, out);                                                                                     \
    }                                                                                                                                                    \
    static void v_halves_##kind##_##offset(const code_part *p, const v_tokens *v, int code_at, int from, int n, float *out) {                             \
        (void)from;                                                                                                                                      \
        v_halves(kind, offset, p, v, code_at, n, out);                                                                                                   \
    }
#define BOTH(instance, kind) instance(kind, 0) instance(kind, 1)
BOTH(GROUP_INSTANCE, CODE_TABLE_8)
BOTH(GROUP_INSTANCE, CODE_TABLE_16)
BOTH(GROUP_INSTANCE, CODE_TABLE_32)
BOTH(GROUP_INSTANCE, CODE_TABLE_64)
BOTH(GROUP_INSTANCE, CODE_LINEAR)
BOTH(GROUP_INSTANCE, CODE_E4M3)
BOTH(HALVES_INSTANCE, CODE_TABLE_16)
BOTH(HALVES_INSTANCE, CODE_TABLE_32)
#undef BOTH

#define STREAMS(name)                                                                                                                                     \
    {{{name##_CODE_TABLE_8_0, name##_CODE_TABLE_8_1}, {name##_CODE_TABLE_16_0, name##_CODE_TABLE_16_1}, {name##_CODE_TABLE_32_0, name##_CODE_TABLE_32_1}, \
      {name##_CODE_TABLE_64_0, name##_CODE_TABLE_64_1}, {name##_CODE_LINEAR_0, name##_CODE_LINEAR_1}, {name##_CODE_E4M3_0, name##_CODE_E4M3_1}},
#define HALVES(name)                                                                                                                                      \
    {[CODE_TABLE_16] = {name##_CODE_TABLE_16_0, name##_CODE_TABLE_16_1}, [CODE_TABLE_32] = {name##_CODE_TABLE_32_0, name##_CODE_TABLE_32_1}}}

/* [order][kind][offset] */
static const k_group_fn k_groups[2][CODE_KINDS][2] = STREAMS(k_stream) HALVES(k_halves);
static const v_group_fn v_groups[2][CODE_KINDS][2] = STREAMS(v_stream) HALVES(v_halves);

static void unpack_k_codes(const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    if (p->s.token_stride) unpack_k_blocks(p, tile, w, c0, channels, out);
    else unpack_k_rows(p, k_groups[p->s.order][p->kind][p->s.has_offset], tile, w, c0, channels, out);
}

static void unpack_v_codes(const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    unpack_v_rows(p, v_groups[p->s.order][p->kind][p->s.has_offset], tile, w, c0, channels, out);
}
#endif
