/* Codes of 4 lanes as bytes, and dot products of them, for the packed attention. By what the file is compiled for: i8mm multiplies unsigned with signed
 * bytes (usdot), dotprod signed ones (sdot), plain NEON widens. So codes are signed numbers where they can be, and without i8mm the weights too. */
#ifndef INGOT_CPU_ATTEND_DOT_NEON_H
#define INGOT_CPU_ATTEND_DOT_NEON_H
#include "attend_phase.h"

VEC_INLINE int8x16_t signed_bytes(vi x) { return vreinterpretq_s8_u32(x); }
VEC_INLINE uint8x16_t unsigned_bytes(vi x) { return vreinterpretq_u8_u32(x); }

#if defined(__ARM_FEATURE_DOTPROD)
typedef int32x4_t dot_sum;
VEC_INLINE dot_sum dot_start(int32_t x) { return vdupq_n_s32(x); }
VEC_INLINE int32x4_t dot_integers(dot_sum s) { return s; }
VEC_INLINE dot_sum dot_signed(dot_sum a, int8x16_t x, int8x16_t y) { return vdotq_s32(a, x, y); }
#else
/* Each lane's sum is that of two neighbours, of lanes 0 and 1 in `low`. */
typedef struct dot_sum { int32x4_t low, high; } dot_sum;
VEC_INLINE dot_sum dot_start(int32_t x) {
    const int32x4_t first = vreinterpretq_s32_u64(vdupq_n_u64((uint32_t)x));
    return (dot_sum){first, first};
}
VEC_INLINE int32x4_t dot_integers(dot_sum s) { return vpaddq_s32(s.low, s.high); }
VEC_INLINE dot_sum dot_signed(dot_sum a, int8x16_t x, int8x16_t y) {
    return (dot_sum){vpadalq_s16(a.low, vmull_s8(vget_low_s8(x), vget_low_s8(y))), vpadalq_s16(a.high, vmull_high_s8(x, y))};
}
#endif
VEC_INLINE vf dot_float(dot_sum s) { return vcvtq_f32_s32(dot_integers(s)); }
VEC_INLINE vf dot_float_2(dot_sum high, dot_sum low) { return vcvtq_f32_s32(vaddq_s32(vshlq_n_s32(dot_integers(high), 8), dot_integers(low))); }
VEC_INLINE int dot_quads(const tile_kind kind) { return (void)kind, 0; }
VEC_INLINE dot_sum dot_settle(dot_sum a) { return a; }

/* Codes of a K row times a quad of the query. Nibbles are as stored; bytes too where there is a product for it. */
#if defined(__ARM_FEATURE_MATMUL_INT8)
VEC_INLINE int dot_excess(const tile_kind kind) { return kind == TILE_LINEAR8 ? 128 : kind == TILE_LINEAR4 ? 8 : 0; }
VEC_INLINE dot_sum dot_broadcast(const tile_kind kind, dot_sum a, vi u, const int32_t *m) {
    const int8x16_t q = vreinterpretq_s8_s32(vld1q_dup_s32(m));
    return kind == TILE_LINEAR8 ? vusdotq_s32(a, unsigned_bytes(u), q) : dot_signed(a, signed_bytes(u), q);
}
VEC_INLINE dot_sum dot_lanes(const tile_kind kind, dot_sum a, vi u, vi s) { return (void)kind, vusdotq_s32(a, unsigned_bytes(u), signed_bytes(s)); }
#else
VEC_INLINE int dot_excess(const tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : 0; }
VEC_INLINE dot_sum dot_broadcast(const tile_kind kind, dot_sum a, vi u, const int32_t *m) {
    return (void)kind, dot_signed(a, signed_bytes(u), vreinterpretq_s8_s32(vld1q_dup_s32(m)));
}
VEC_INLINE dot_sum dot_lanes(const tile_kind kind, dot_sum a, vi u, vi s) { return (void)kind, dot_signed(a, signed_bytes(u), signed_bytes(s)); }
#endif

/* --- codes --- */

/* Levels for lookups by the low 4 bits. */
typedef struct attend_book { int8x16_t table; } attend_book;
VEC_INLINE attend_book attend_book_of(const tile_kind kind, const tile16 *t, const int excess) {
    return (void)kind, (attend_book){vaddq_s8(vld1q_s8(t->level), vdupq_n_s8((int8_t)excess))};
}

/* Bits [at, at + 4) of each byte. */
VEC_INLINE uint8x16_t low_4_at(uint8x16_t x, const int at) { return vandq_u8(at ? vshlq_u8(x, vdupq_n_s8((int8_t)-at)) : x, vdupq_n_u8(15)); }

VEC_INLINE int bits_of(const tile_kind kind) { return kind == TILE_BOOK2 ? 2 : kind == TILE_BOOK3 ? 3 : 4; }
VEC_INLINE vi book_code(const tile_kind kind, const attend_book *b, vi x, const int k) {
    return vreinterpretq_u32_s8(vqtbl1q_s8(b->table, low_4_at(unsigned_bytes(x), k * bits_of(kind))));
}

/* The codes in the top bits of three rows of 3-bit codes, moved to the low ones. */
VEC_INLINE vi top_of_3(vi a, vi b, vi c) {
    const uint8x16_t ab = vsliq_n_u8(vshrq_n_u8(unsigned_bytes(a), 6), vshrq_n_u8(unsigned_bytes(b), 6), 2);
    return vreinterpretq_u32_u8(vsliq_n_u8(ab, vshrq_n_u8(unsigned_bytes(c), 6), 4));
}

VEC_INLINE vi k_code(const tile_kind kind, const attend_book *b, vi x, const int k) {
    if (kind == TILE_LINEAR8) return dot_excess(kind) ? x : vi_xor(x, vi_set(0x80808080u));
    return kind == TILE_LINEAR4 ? vreinterpretq_u32_u8(low_4_at(unsigned_bytes(x), 4 * k)) : book_code(kind, b, x, k);
}

/* Signed. Nibbles stay shifted up by 4 bits (the factor makes up for it): one operation less. */
VEC_INLINE vi v_code(const tile_kind kind, const attend_book *b, vi x, const int k) {
    if (kind == TILE_LINEAR8) return x;
    if (kind != TILE_LINEAR4) return book_code(kind, b, x, k);
    return vreinterpretq_u32_u8(k ? vandq_u8(unsigned_bytes(x), vdupq_n_u8(0xf0)) : vshlq_n_u8(unsigned_bytes(x), 4));
}

/* In 32 registers. */
enum { DOT_REGISTERS = sizeof(dot_sum) / sizeof(vi) };
VEC_INLINE int k_rows_at_once(const int n, const int digits) { return (void)digits, n > 4 ? 4 : n; }
VEC_INLINE int k_vectors_at_once(const int n, const int digits) {
    const int registers = k_rows_at_once(n, digits) * (digits * DOT_REGISTERS + 1);
    return registers * 4 <= 24 ? 4 : registers * 2 <= 24 ? 2 : 1;
}
VEC_INLINE int v_rows_at_once(const int n, const int digits) {
    const int most = 8 / (digits * DOT_REGISTERS);
    return n <= most || n == 3 ? n : most;
}
#endif
