/* Small pieces of the packed attention for AVX-512. */
#ifndef INGOT_CPU_ATTEND_DOT_AVX512_H
#define INGOT_CPU_ATTEND_DOT_AVX512_H
#include "attend_phase.h"

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

#endif
