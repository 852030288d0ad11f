/* Dot products of bytes for the packed attention, AVX-512. */
#ifndef INGOT_CPU_ATTEND_DOT_AVX512_H
#define INGOT_CPU_ATTEND_DOT_AVX512_H
#include "attend_codes_avx512.h"

typedef __m512i dot_sum;
VEC_INLINE dot_sum dot_start(int32_t x) { return _mm512_set1_epi32(x); }
VEC_INLINE __m512 dot_float(dot_sum s) { return _mm512_cvtepi32_ps(s); }
VEC_INLINE __m512 dot_float_2(dot_sum high, dot_sum low) { return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low)); }

/* The compilers do not fold the broadcast into the instruction and copy accumulators around it; hence the assembly. */
VEC_INLINE dot_sum dot_broadcast(const tile_kind kind, dot_sum a, __m512i u, const int32_t *m) {
    (void)kind;
    __asm__("vpdpbusd %2%{1to16%},%1,%0" : "+v"(a) : "v"(u), "m"(*m));
    return a;
}
VEC_INLINE dot_sum dot_lanes(const tile_kind kind, dot_sum a, __m512i u, __m512i s) {
    (void)kind;
    __asm__("vpdpbusd %2,%1,%0" : "+v"(a) : "v"(u), "v"(s));
    return a;
}
VEC_INLINE int dot_quads(const tile_kind kind) { return (void)kind, 0; }
VEC_INLINE dot_sum dot_settle(dot_sum a) { return a; }

/* Nibbles are as stored, all others made for it. */
VEC_INLINE int dot_excess(const tile_kind kind) { return kind == TILE_LINEAR4 ? 8 : 128; }

/* In 32 registers. */
VEC_INLINE int k_rows_at_once(const int n, const int digits) { return (void)digits, n; }
VEC_INLINE int k_vectors_at_once(const int n, const int digits) { return n * (digits + 1) * 4 <= 24 ? 4 : n * (digits + 1) * 2 <= 24 ? 2 : 1; }
VEC_INLINE int v_rows_at_once(const int n, const int digits) { return digits == 2 && n > 4 ? 4 : n; }
#endif
