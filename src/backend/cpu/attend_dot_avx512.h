/* Small pieces of the packed attention for AVX-512. */
#ifndef INGOT_CPU_ATTEND_DOT_AVX512_H
#define INGOT_CPU_ATTEND_DOT_AVX512_H
#include "attend_packed.h"
#include "vec.h"

/* a += dot of four u8 of each dword of u with the four s8 at m, the same for all lanes. The compilers do not fold the
 * broadcast into the instruction and copy accumulators around it; hence the assembly. */
VEC_INLINE __m512i dot_broadcast(__m512i a, __m512i u, const int32_t *m) {
    __asm__("vpdpbusd %2%{1to16%},%1,%0" : "+v"(a) : "v"(u), "m"(*m));
    return a;
}
VEC_INLINE __m512i dot_lanes(__m512i a, __m512i u, __m512i s) {
    __asm__("vpdpbusd %2,%1,%0" : "+v"(a) : "v"(u), "v"(s));
    return a;
}

/* Asks for the next n lines of the page ahead and returns where to go on. Spread over all phases, so that the memory never
 * idles during one. Into L2 only: measured faster than into L1 (1.20 against 1.27 times the streaming read). */
VEC_INLINE const char *ask_ahead(const char *p, const char *end, const int n) {
    if (p >= end) return p;
    VEC_UNROLL(16) for (int i = 0; i < n; i++) _mm_prefetch(p + i * 64, _MM_HINT_T1);
    return p + n * 64;
}

/* With this no operation of the attention meets a denormal number, which costs some 150 cycles; halves are converted exactly
 * all the same. Returns what to restore. */
VEC_INLINE unsigned denormals_off(void) {
    const unsigned csr = _mm_getcsr();
    _mm_setcsr(csr | 0x8040u);
    return csr;
}

/* The five instances of a phase body. */
#define ATTEND_INSTANCES(name, body)                                                                     \
    static void name##_1(attend_block *b, const ingot_attend_args *a, attend_page *pg) { body(1, b, a, pg); } \
    static void name##_2(attend_block *b, const ingot_attend_args *a, attend_page *pg) { body(2, b, a, pg); } \
    static void name##_3(attend_block *b, const ingot_attend_args *a, attend_page *pg) { body(3, b, a, pg); } \
    static void name##_4(attend_block *b, const ingot_attend_args *a, attend_page *pg) { body(4, b, a, pg); } \
    static void name##_8(attend_block *b, const ingot_attend_args *a, attend_page *pg) { body(8, b, a, pg); }
#define ATTEND_ROW(name) {name##_1, name##_2, name##_3, name##_4, name##_8}
#endif
