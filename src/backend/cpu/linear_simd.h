/* Integer vectors for the matrix product: unpacking codes (layout in linear.h) and dot products of bytes.
 * For files compiled for one instruction set. */
#ifndef INGOT_CPU_LINEAR_SIMD_H
#define INGOT_CPU_LINEAR_SIMD_H
#include "linear.h"
#include "vec.h"
#include <string.h>

/* Kernels are functions of constants (format, tokens of a tile), expanded and unrolled for each. The address sanitizer makes a compiler need
 * minutes for that, so its builds run one body for all, with the same statements. */
#if defined(__SANITIZE_ADDRESS__)
#define LIN_ONE_BODY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIN_ONE_BODY 1
#endif
#endif
#if defined(LIN_ONE_BODY)
#define LIN_KERNEL static __attribute__((noinline))
#define LIN_UNROLL(n)
#else
#define LIN_KERNEL VEC_INLINE
#define LIN_UNROLL(n) VEC_UNROLL(n)
#endif

VEC_INLINE uint32_t lin_dword(const int8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

#if defined(__AVX512F__)
enum { LIN_TILE = 16, LIN_FLOAT_TILE = 12 };
typedef __m512i lin_table;
VEC_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
VEC_INLINE vi vi_or_and(vi a, vi b, vi mask) { return _mm512_ternarylogic_epi32(a, b, mask, 0xf8); }
VEC_INLINE vi vi_right(vi a, int n) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n)); }
VEC_INLINE vi vi_left(vi a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
VEC_INLINE vf vi_to_float(vi a) { return _mm512_cvtepi32_ps(a); }
VEC_INLINE vf vf_int8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p))); }
VEC_INLINE vf vf_uint8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p))); }
VEC_INLINE vf vf_neg_mul(vf a, vf b) { return _mm512_mul_ps(_mm512_xor_ps(a, _mm512_set1_ps(-0.f)), b); }
VEC_INLINE vi vi_lookup(vi table, vi i) { return _mm512_shuffle_epi8(table, i); }
VEC_INLINE vi vi_table(const int8_t *t) { return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)t)); }
VEC_INLINE vi vi_add8(vi a, vi b) { return _mm512_add_epi8(a, b); }
VEC_INLINE void vf_store_part(float *p, vf x, int n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), x); }
VEC_INLINE vf vf_load_part(const float *p, int n) { return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }
/* Whether the codes go in as they are (unsigned); else less their zero, as two's complement. */
VEC_INLINE int lin_signed(int code) { return (void)code, 0; }

/* Sum over vectors [j0, j1) of codes times activations; q holds 32 of them. */
LIN_KERNEL vi lin_dot(const int code, const vi *w, const int8_t *q, const int j0, const int j1) {
    (void)code;
    vi acc = _mm512_setzero_si512();
    LIN_UNROLL(8) for (int j = j0; j < j1; j++) acc = _mm512_dpbusd_epi32(acc, w[j], vi_set(lin_dword(q + 4 * j)));
    return acc;
}
#else
enum { LIN_TILE = 4, LIN_FLOAT_TILE = 6 };
VEC_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
VEC_INLINE vi vi_or_and(vi a, vi b, vi mask) { return _mm256_or_si256(a, _mm256_and_si256(b, mask)); }
VEC_INLINE vi vi_right(vi a, int n) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n)); }
VEC_INLINE vi vi_left(vi a, int n) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n)); }
VEC_INLINE vf vi_to_float(vi a) { return _mm256_cvtepi32_ps(a); }
VEC_INLINE vf vf_int8(const uint8_t *p) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p))); }
VEC_INLINE vf vf_uint8(const uint8_t *p) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p))); }
VEC_INLINE vf vf_neg_mul(vf a, vf b) { return _mm256_mul_ps(_mm256_xor_ps(a, _mm256_set1_ps(-0.f)), b); }
VEC_INLINE vi vi_lookup(vi table, vi i) { return _mm256_shuffle_epi8(table, i); }
VEC_INLINE vi vi_table(const int8_t *t) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)t)); }
VEC_INLINE vi vi_add8(vi a, vi b) { return _mm256_add_epi8(a, b); }
VEC_INLINE __m256i vi_lanes_below(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
VEC_INLINE void vf_store_part(float *p, vf x, int n) { _mm256_maskstore_ps(p, vi_lanes_below(n), x); }
VEC_INLINE vf vf_load_part(const float *p, int n) { return _mm256_maskload_ps(p, vi_lanes_below(n)); }
/* 8-bit codes would overflow the 16-bit sums of pairs as unsigned numbers. */
VEC_INLINE int lin_signed(int code) { return code == LIN_C8 || code == LIN_C4_TABLE; }

/* Products of pairs fit 16 bits: 255 would not (signed codes: at most 128 * 127 * 2). So many vectors may be added before widening:
 * 15 * 127 * 2 * 8, 31 * 127 * 2 * 4 and 63 * 127 * 2 * 2 are below 2^15. */
LIN_KERNEL vi lin_dot(const int code, const vi *w, const int8_t *q, const int j0, const int j1) {
    const int most = lin_signed(code) ? 1 : code == LIN_C6 ? 2 : code == LIN_C5 ? 4 : 8;
    vi acc = _mm256_setzero_si256();
    LIN_UNROLL(8) for (int j = j0; j < j1; j += most) {
        vi pairs = _mm256_setzero_si256();
        const int end = j + most < j1 ? j + most : j1;
        LIN_UNROLL(8) for (int i = j; i < end; i++) {
            const vi x = vi_set(lin_dword(q + 4 * i));
            const vi p = lin_signed(code) ? _mm256_maddubs_epi16(_mm256_abs_epi8(w[i]), _mm256_sign_epi8(x, w[i])) : _mm256_maddubs_epi16(w[i], x);
            pairs = i == j ? p : _mm256_add_epi16(pairs, p);
        }
        const vi sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        acc = j == j0 ? sums : _mm256_add_epi32(acc, sums);
    }
    return acc;
}
#endif

/* Lanes of a group that one vector holds are [part * VW, +VW). */
enum { LIN_PARTS = LIN_ROWS / VW };

/* The 8 vectors of a run of codes for lanes of `part`. */
LIN_KERNEL void lin_unpack(const int code, const uint8_t *at, int part, vi table, vi *w) {
    const uint8_t *p = at + part * VW * 4;
    const vi low = vi_set(0x0f0f0f0fu);
    if (code == LIN_C8) {
        LIN_UNROLL(8) for (int j = 0; j < 8; j++) w[j] = lin_signed(code) ? vi_xor(vi_load(p + j * 64), vi_set(0x80808080u)) : vi_load(p + j * 64);
        return;
    }
    LIN_UNROLL(4) for (int j = 0; j < 4; j++) {
        const vi v = vi_load(p + j * 64);
        w[j] = vi_and(v, low);
        w[j + 4] = vi_and(vi_right(v, 4), low);
    }
    if (code == LIN_C4_TABLE) {
        LIN_UNROLL(8) for (int j = 0; j < 8; j++) w[j] = vi_lookup(table, w[j]);
    } else if (code == LIN_C5) {
        const vi bits = vi_load(p + 256), fifth = vi_set(0x10101010u);
        LIN_UNROLL(8) for (int j = 0; j < 8; j++) w[j] = vi_or_and(w[j], j < 4 ? vi_left(bits, 4 - j) : vi_right(bits, j - 4), fifth);
    } else if (code == LIN_C6) {
        const vi high = vi_set(0x30303030u);
        LIN_UNROLL(8) for (int j = 0; j < 8; j++) {
            const vi bits = vi_load(p + 256 + (j / 4) * 64);
            w[j] = vi_or_and(w[j], j % 4 < 2 ? vi_left(bits, 4 - 2 * (j % 4)) : vi_right(bits, 2 * (j % 4) - 4), high);
        }
    }
}

/* With few tokens the weights come from memory: bytes to ask for ahead of their use (into the next group, whatever lies there),
 * best of 1 to 8 KB by measurement: 8 to 12 % faster than without for one token, 15 to 20 % for four. */
enum { LIN_AHEAD = 4096 };
LIN_KERNEL void lin_fetch(const int code, const uint8_t *at) {
    LIN_UNROLL(8) for (size_t i = 0; i < lin_code_bytes(code); i += 64) _mm_prefetch((const char *)at + i, _MM_HINT_T0);
}

/* w = a * code + b for half h (formats with parts of 16) of run i; b is 0 where codes are signed. */
LIN_KERNEL void lin_scales(const lin_format f, const uint8_t *plane, int i, const int h, int part, vf *a, vf *b) {
    const int lane = part * VW;
    const vf zero = vf_set((float)f.zero);
    if (f.scale == LIN_D || f.scale == LIN_DM || f.scale == LIN_E) {
        const uint8_t *at = plane + (size_t)i * lin_scale_bytes(f.scale, f.part);
        *a = f.scale == LIN_E ? vf_load((const float *)(const void *)at + lane) : vf_halves((const uint16_t *)(const void *)at + lane);
        *b = f.scale == LIN_DM ? vf_halves((const uint16_t *)(const void *)(at + 32) + lane) : vf_neg_mul(*a, zero);
        return;
    }
    const uint8_t *at = plane + (size_t)(i / 8) * lin_scale_bytes(f.scale, f.part);
    const vf d = vf_halves((const uint16_t *)(const void *)at + lane);
    const int p = i % 8 * (LIN_RUN / f.part) + h;
    if (f.scale == LIN_K) {
        *a = vf_mul(d, vf_int8(at + 32 + p * 16 + lane));
        *b = vf_neg_mul(*a, zero);
    } else {
        *a = vf_mul(d, vf_uint8(at + 64 + p * 32 + lane));
        *b = vf_neg_mul(vf_halves((const uint16_t *)(const void *)(at + 32) + lane), vf_uint8(at + 64 + p * 32 + 16 + lane));
    }
}

/* The format's table in each 16 bytes, unsigned by `zero` where codes go in unsigned. */
VEC_INLINE vi lin_load_table(const lin_format f, const ingot_weight *w) {
    if (f.code != LIN_C4_TABLE) return vi_set(0);
    const vi t = vi_table(w->table);
    return lin_signed(f.code) ? t : vi_add8(t, vi_set((uint32_t)f.zero * 0x01010101u));
}

/* Rows of a group that exist, from the first lane of `part`: VW or fewer, possibly none. */
VEC_INLINE int lin_lanes(const ingot_weight *w, int g, int part) {
    const int n = w->n_out - g * LIN_ROWS - part * VW;
    return n < 0 ? 0 : n < VW ? n : VW;
}
VEC_INLINE void lin_store(float *p, vf x, int lanes) {
    if (lanes == VW) vf_store(p, x);
    else if (lanes > 0) vf_store_part(p, x, lanes);
}
VEC_INLINE vf lin_load(const float *p, int lanes) { return lanes == VW ? vf_load(p) : lanes > 0 ? vf_load_part(p, lanes) : vf_zero(); }
#endif
