/* Vectors of floats of the instruction set the including file is compiled for: 16 lanes (AVX-512), 8 (AVX2) or 4 (NEON, vec_neon.h).
 * Only for files compiled for one of them; everything is static so that no such code reaches another file. */
#ifndef INGOT_CPU_VEC_H
#define INGOT_CPU_VEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
/* The undefined-behaviour sanitizer makes clang need minutes for the unrolled bodies; addresses are still checked. */
#define VEC_INLINE static inline __attribute__((always_inline, no_sanitize("undefined")))
#define VEC_PRAGMA(x) _Pragma(#x)
#define VEC_UNROLL(n) VEC_PRAGMA(clang loop unroll_count(n))
#else
#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_PRAGMA(x) _Pragma(#x)
#define VEC_UNROLL(n) VEC_PRAGMA(GCC unroll n)
#endif

#define VEC_LN2 0.693147180559945f
#define VEC_LOG2E 1.44269504088896f
/* Scores of masked tokens, and the floor of a running maximum: far apart, so that exp(MASKED - FLOOR) is 0. */
#define VEC_MASKED (-1e37f)
#define VEC_FLOOR (-1e30f)

#if defined(__aarch64__)
#include "vec_neon.h"
#elif defined(__AVX512F__)
#include <immintrin.h>
enum { VW = 16 };
typedef __m512 vf;
VEC_INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
VEC_INLINE vf vf_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vf_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
VEC_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
VEC_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
VEC_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
VEC_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
VEC_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vf vf_halves(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p)); }
typedef __m512i vi;
VEC_INLINE vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
VEC_INLINE vi vi_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
VEC_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
VEC_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
VEC_INLINE vi vi_nearest(vf x) { return _mm512_cvtps_epi32(x); }
VEC_INLINE int32_t vi_sum(vi a) { return _mm512_reduce_add_epi32(a); }
/* Bits [at, at + 4) of each dword, unsigned and less 8, or as two's complement; byte at bit `at`, two's complement. */
VEC_INLINE vf vf_nibble_u(vi v, int at) {
    return _mm512_permutexvar_ps(_mm512_srli_epi32(v, (unsigned)at), _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7));
}
VEC_INLINE vf vf_nibble_s(vi v, int at) {
    return _mm512_permutexvar_ps(_mm512_srli_epi32(v, (unsigned)at), _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
}
VEC_INLINE vf vf_byte_s(vi v, int at) { return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(v, (unsigned)(24 - at)), 24)); }
VEC_INLINE float vf_sum(vf a) { return _mm512_reduce_add_ps(a); }
VEC_INLINE float vf_top(vf a) { return _mm512_reduce_max_ps(a); }
/* The lanes whose index i has lo <= at + i < hi keep x, the others get `other`. */
VEC_INLINE vf vf_window(vf x, vf other, int at, int lo, int hi) {
    const __m512i i = _mm512_add_epi32(_mm512_set1_epi32(at), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __mmask16 k = _mm512_cmpge_epi32_mask(i, _mm512_set1_epi32(lo)) & _mm512_cmplt_epi32_mask(i, _mm512_set1_epi32(hi));
    return _mm512_mask_blend_ps(k, other, x);
}
/* p * 2^n for integral n <= 126; tiny results may be 0. */
VEC_INLINE vf vf_ldexp(vf p, vf n) { return _mm512_scalef_ps(p, n); }
VEC_INLINE bool vf_any_above(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }
#else
#include <immintrin.h>
enum { VW = 8 };
typedef __m256 vf;
VEC_INLINE vf vf_zero(void) { return _mm256_setzero_ps(); }
VEC_INLINE vf vf_set(float x) { return _mm256_set1_ps(x); }
VEC_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
VEC_INLINE void vf_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
VEC_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
VEC_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
VEC_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
VEC_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
VEC_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
VEC_INLINE vf vf_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
VEC_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
VEC_INLINE vf vf_halves(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)); }
typedef __m256i vi;
VEC_INLINE vi vi_load(const void *p) { return _mm256_loadu_si256(p); }
VEC_INLINE vi vi_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
VEC_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
VEC_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
VEC_INLINE vi vi_nearest(vf x) { return _mm256_cvtps_epi32(x); }
VEC_INLINE int32_t vi_sum(vi a) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
VEC_INLINE vf vf_nibble_u(vi v, int at) {
    const __m256i n = _mm256_and_si256(_mm256_srli_epi32(v, at), _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(n, _mm256_set1_epi32(8)));
}
VEC_INLINE vf vf_nibble_s(vi v, int at) { return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(v, 28 - at), 28)); }
VEC_INLINE vf vf_byte_s(vi v, int at) { return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(v, 24 - at), 24)); }
VEC_INLINE float vf_sum(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
VEC_INLINE float vf_top(vf a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}
VEC_INLINE vf vf_window(vf x, vf other, int at, int lo, int hi) {
    const __m256i i = _mm256_add_epi32(_mm256_set1_epi32(at), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(lo), i), _mm256_cmpgt_epi32(_mm256_set1_epi32(hi), i));
    return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(in));
}
VEC_INLINE vf vf_ldexp(vf p, vf n) {
    const __m256i e = _mm256_slli_epi32(_mm256_cvtps_epi32(_mm256_max_ps(n, _mm256_set1_ps(-101.f))), 23);
    const __m256 y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), e));
    return _mm256_and_ps(y, _mm256_cmp_ps(n, _mm256_set1_ps(-100.f), _CMP_GE_OQ));
}
VEC_INLINE bool vf_any_above(vf a, vf b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0; }
#endif

/* 2^t for t <= 100, relative error below 8e-8; 0 below 2^-100 or so. Minimax polynomial of degree 6 on [-1/2, 1/2]. */
VEC_INLINE vf vf_exp2(vf t) {
    const vf magic = vf_set(12582912.f);
    const vf n = vf_sub(vf_add(t, magic), magic), f = vf_sub(t, n);
    vf p = vf_set(0.00015345812f);
    p = vf_fma(p, f, vf_set(0.0013399931f));
    p = vf_fma(p, f, vf_set(0.009618489f));
    p = vf_fma(p, f, vf_set(0.055503286f));
    p = vf_fma(p, f, vf_set(0.24022646f));
    p = vf_fma(p, f, vf_set(0.69314718f));
    p = vf_fma(p, f, vf_set(1.0f));
    return vf_ldexp(p, n);
}
/* The same with degree 4: relative error 3e-6. */
VEC_INLINE vf vf_exp2_short(vf t) {
    const vf magic = vf_set(12582912.f);
    const vf n = vf_sub(vf_add(t, magic), magic), f = vf_sub(t, n);
    vf p = vf_set(0.0095701022f);
    p = vf_fma(p, f, vf_set(0.055917863f));
    p = vf_fma(p, f, vf_set(0.24024744f));
    p = vf_fma(p, f, vf_set(0.69312179f));
    p = vf_fma(p, f, vf_set(0.99999928f));
    return vf_ldexp(p, n);
}

/* Asks for a line of 64 bytes. Into L2 only: measured faster than into L1 (1.20 against 1.27 times the streaming read). */
VEC_INLINE void vec_ask(const void *p) { __builtin_prefetch(p, 0, 2); }

#if defined(__x86_64__)
/* Round to nearest even. */
VEC_INLINE uint16_t float_to_half(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
VEC_INLINE float half_to_float(uint16_t h) { return _cvtsh_ss(h); }

/* out[j][i] = in[i][j] for 4 x 4 floats. */
VEC_INLINE void transpose_4(const float *const in[4], float *out, ptrdiff_t step) {
    __m128 a = _mm_loadu_ps(in[0]), b = _mm_loadu_ps(in[1]), c = _mm_loadu_ps(in[2]), d = _mm_loadu_ps(in[3]);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out, a);
    _mm_storeu_ps(out + step, b);
    _mm_storeu_ps(out + 2 * step, c);
    _mm_storeu_ps(out + 3 * step, d);
}

/* With this no operation meets or makes a denormal number, which costs some 150 cycles; halves are converted exactly all the
 * same. Returns what is to be restored. */
typedef unsigned vec_mode;
VEC_INLINE vec_mode vec_denormals_off(void) {
    const vec_mode mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u);
    return mode;
}
VEC_INLINE void vec_denormals_restore(vec_mode mode) { _mm_setcsr(mode); }
#endif
#endif
