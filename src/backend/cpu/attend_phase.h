/* What the phases of the packed attention have in common. For files compiled for one instruction set. */
#ifndef INGOT_CPU_ATTEND_PHASE_H
#define INGOT_CPU_ATTEND_PHASE_H
#include "attend_packed.h"
#include "vec.h"

/* Asks for the next n lines of the page ahead and returns where to go on. Spread over all phases, so that the memory never
 * idles during one. */
VEC_INLINE const char *ask_ahead(const char *p, const char *end, const int n) {
    if (p >= end) return p;
    VEC_UNROLL(16) for (int i = 0; i < n; i++) vec_ask(p + i * 64);
    return p + n * 64;
}

#if defined(__x86_64__)
/* The largest of 8 halves that are not negative, as a float. */
VEC_INLINE float largest_of_8(__m128i x) {
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(x, _mm_set1_epi16(-1)));
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_andnot_si128(least, _mm_cvtsi32_si128(0xffff))));
}
#endif

/* The five instances of a phase body(n, b, c, pg). */
#define ATTEND_INSTANCES(name, body)                                                             \
    static void name##_1(attend_block *b, const attend_call *c, attend_page *pg) { body(1, b, c, pg); } \
    static void name##_2(attend_block *b, const attend_call *c, attend_page *pg) { body(2, b, c, pg); } \
    static void name##_3(attend_block *b, const attend_call *c, attend_page *pg) { body(3, b, c, pg); } \
    static void name##_4(attend_block *b, const attend_call *c, attend_page *pg) { body(4, b, c, pg); } \
    static void name##_8(attend_block *b, const attend_call *c, attend_page *pg) { body(8, b, c, pg); }
#define ATTEND_ROW(name) {name##_1, name##_2, name##_3, name##_4, name##_8}
#endif
