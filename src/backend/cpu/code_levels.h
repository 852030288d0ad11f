/* Codes of VW elements and their levels in registers. For files compiled for one instruction set. */
#ifndef INGOT_CPU_CODE_LEVELS_H
#define INGOT_CPU_CODE_LEVELS_H
#include "code_plan.h"
#include "vec.h"
#include "../../base/half.h"
#include <string.h>

#if defined(__aarch64__)
VEC_INLINE vi vi_and(vi a, vi b) { return vandq_u32(a, b); }
VEC_INLINE vi vi_or(vi a, vi b) { return vorrq_u32(a, b); }
VEC_INLINE vi vi_right(vi a, vi n) { return vshlq_u32(a, vnegq_s32(vreinterpretq_s32_u32(n))); }
VEC_INLINE vi vi_left(vi a, int n) { return vshlq_u32(a, vdupq_n_s32(n)); }
VEC_INLINE vi vi_mul(vi a, vi b) { return vmulq_u32(a, b); }
VEC_INLINE vi vi_lanes(int step) {
    const uint32_t i[4] = {0, 1, 2, 3};
    return vmulq_n_u32(vld1q_u32(i), (uint32_t)step);
}
VEC_INLINE vf vi_float(vi a) { return vcvtq_f32_s32(vreinterpretq_s32_u32(a)); }
VEC_INLINE vf vi_as_float(vi a) { return vreinterpretq_f32_u32(a); }
VEC_INLINE vi vi_gather(const void *p, vi at) {
    uint32_t o[4], w[4];
    vst1q_u32(o, at);
    VEC_UNROLL(4) for (int i = 0; i < 4; i++) memcpy(&w[i], (const uint8_t *)p + (int32_t)o[i], 4);
    return vld1q_u32(w);
}
VEC_INLINE vf vf_gather(const float *p, vi i) { return vi_as_float(vi_gather(p, vshlq_n_u32(i, 2))); }
VEC_INLINE vf vi_halves(vi a) { return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(a))); }
/* Of the floats in tables of 1, 2 or 4 registers those with the numbers i; in the first two bits of i only, or all of it. */
VEC_INLINE uint8x16_t vi_bytes_of(vi i) { return vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), i, 0x04040404)); }
VEC_INLINE uint8x16_t vf_as_bytes(vf x) { return vreinterpretq_u8_f32(x); }
VEC_INLINE vf vf_pick(vi i, vf t) { return vreinterpretq_f32_u8(vqtbl1q_u8(vf_as_bytes(t), vi_bytes_of(vandq_u32(i, vdupq_n_u32(3))))); }
VEC_INLINE vf vf_pick_8(vi i, const vf *t) {
    const uint8x16x2_t table = {{vf_as_bytes(t[0]), vf_as_bytes(t[1])}};
    return vreinterpretq_f32_u8(vqtbl2q_u8(table, vi_bytes_of(vandq_u32(i, vdupq_n_u32(7)))));
}
VEC_INLINE vf vf_pick_16(vi i, const vf *t) {
    const uint8x16x4_t table = {{vf_as_bytes(t[0]), vf_as_bytes(t[1]), vf_as_bytes(t[2]), vf_as_bytes(t[3])}};
    return vreinterpretq_f32_u8(vqtbl4q_u8(table, vi_bytes_of(vandq_u32(i, vdupq_n_u32(15)))));
}
VEC_INLINE vf vf_pick_32(vi i, const vf *t) {
    const uint8x16x4_t low = {{vf_as_bytes(t[0]), vf_as_bytes(t[1]), vf_as_bytes(t[2]), vf_as_bytes(t[3])}};
    const uint8x16x4_t high = {{vf_as_bytes(t[4]), vf_as_bytes(t[5]), vf_as_bytes(t[6]), vf_as_bytes(t[7])}};
    const uint8x16_t at = vi_bytes_of(vandq_u32(i, vdupq_n_u32(31)));
    return vreinterpretq_f32_u8(vqtbx4q_u8(vqtbl4q_u8(low, at), high, vsubq_u8(at, vdupq_n_u8(64))));
}
VEC_INLINE vi vi_spread(const uint8_t *p, vi from) { return vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(p), vreinterpretq_u8_u32(from))); }
#elif defined(__AVX512F__)
VEC_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
VEC_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
VEC_INLINE vi vi_right(vi a, vi n) { return _mm512_srlv_epi32(a, n); }
VEC_INLINE vi vi_left(vi a, int n) { return _mm512_slli_epi32(a, (unsigned)n); }
VEC_INLINE vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
VEC_INLINE vi vi_lanes(int step) { return _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(step)); }
VEC_INLINE vf vi_float(vi a) { return _mm512_cvtepi32_ps(a); }
VEC_INLINE vf vi_as_float(vi a) { return _mm512_castsi512_ps(a); }
/* Words of 4 bytes at p + at[i]. */
VEC_INLINE vi vi_gather(const void *p, vi at) { return _mm512_i32gather_epi32(at, p, 1); }
VEC_INLINE vf vf_gather(const float *p, vi i) { return _mm512_i32gather_ps(i, p, 4); }
/* The low halves of the lanes as floats. */
VEC_INLINE vf vi_halves(vi a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }
VEC_INLINE vf vf_pick(vi i, vf t) { return _mm512_permutexvar_ps(i, t); }
/* Lane i: the word whose lowest byte is byte spread of the 16 at p; `from` holds 4 byte numbers a lane. */
VEC_INLINE vi vi_spread(const uint8_t *p, vi from) { return _mm512_permutexvar_epi8(from, _mm512_castsi128_si512(_mm_loadu_si128((const void *)p))); }
#else
VEC_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
VEC_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
VEC_INLINE vi vi_right(vi a, vi n) { return _mm256_srlv_epi32(a, n); }
VEC_INLINE vi vi_left(vi a, int n) { return _mm256_slli_epi32(a, n); }
VEC_INLINE vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
VEC_INLINE vi vi_lanes(int step) { return _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(step)); }
VEC_INLINE vf vi_float(vi a) { return _mm256_cvtepi32_ps(a); }
VEC_INLINE vf vi_as_float(vi a) { return _mm256_castsi256_ps(a); }
VEC_INLINE vi vi_gather(const void *p, vi at) { return _mm256_i32gather_epi32(p, at, 1); }
VEC_INLINE vf vf_gather(const float *p, vi i) { return _mm256_i32gather_ps(p, i, 4); }
VEC_INLINE vf vi_halves(vi a) {
    const __m256i w = _mm256_packus_epi32(_mm256_and_si256(a, _mm256_set1_epi32(0xffff)), _mm256_setzero_si256());
    return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(w, 0x08)));
}
VEC_INLINE vf vf_pick(vi i, vf t) { return _mm256_permutevar8x32_ps(t, i); }
VEC_INLINE vi vi_spread(const uint8_t *p, vi from) {
    int64_t w;
    memcpy(&w, p, 8);
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(w), from);
}
#endif

/* The low four bits of w, and above them bit `at` of the lanes of `fifth`. What lies above may be anything. */
VEC_INLINE vi vi_with_fifth(vi w, vi fifth, vi at) {
#if defined(__AVX512F__)
    return _mm512_ternarylogic_epi32(vi_set(15), w, vi_left(vi_right(fifth, at), 4), 0xca);
#else
    return vi_or(vi_and(w, vi_set(15)), vi_left(vi_right(fifth, at), 4));
#endif
}

/* The levels of a part, with what one kind needs; unused parts vanish. */
typedef struct code_levels {
    vf table[8];
    vi mask, base;
    const float *level;
} code_levels;

enum { TABLE_VECTORS = VW == 16 ? 4 : VW == 8 ? 2 : 8 };

VEC_INLINE code_levels code_levels_of(const code_part *p) {
    code_levels l = {.mask = vi_set((1u << p->s.bits) - 1), .base = vi_set((uint32_t)p->base), .level = p->s.level};
    VEC_UNROLL(8) for (int i = 0; i < TABLE_VECTORS; i++) l.table[i] = vf_load(p->table + i * VW);
    return l;
}

/* FP8 E4M3 bytes in the low bits of the lanes. */
VEC_INLINE vf e4m3_floats(vi code) {
    const vi half = vi_or(vi_left(vi_and(code, vi_set(0x80)), 8), vi_left(vi_and(code, vi_set(0x7f)), 7));
    return vf_mul(vi_halves(half), vf_set(256.f));
}

/* Levels of the codes in the low bits of the lanes; what lies above them does not matter. */
VEC_INLINE vf code_level(const code_kind kind, const code_levels *l, vi code) {
#if defined(__aarch64__)
    if (kind == CODE_TABLE_8) return vf_pick_8(code, l->table);
    if (kind == CODE_TABLE_16) return vf_pick_16(code, l->table);
    if (kind == CODE_TABLE_32) return vf_pick_32(code, l->table);
#elif defined(__AVX512F__)
    if (kind == CODE_TABLE_8 || kind == CODE_TABLE_16) return vf_pick(code, l->table[0]);
    if (kind == CODE_TABLE_32) return _mm512_permutex2var_ps(l->table[0], code, l->table[1]);
    if (kind == CODE_TABLE_64) {
        const vf low = _mm512_permutex2var_ps(l->table[0], code, l->table[1]), high = _mm512_permutex2var_ps(l->table[2], code, l->table[3]);
        return _mm512_mask_blend_ps(_mm512_test_epi32_mask(code, _mm512_set1_epi32(32)), low, high);
    }
#else
    if (kind == CODE_TABLE_8) return vf_pick(code, l->table[0]);
    if (kind == CODE_TABLE_16) return _mm256_blendv_ps(vf_pick(code, l->table[0]), vf_pick(code, l->table[1]), vi_as_float(vi_left(code, 28)));
#endif
    if (kind == CODE_LINEAR) return vi_float(vi_add(vi_and(code, l->mask), l->base));
    if (kind == CODE_E4M3) return e4m3_floats(code);
    return vf_gather(l->level, vi_and(code, l->mask));
}
#endif
