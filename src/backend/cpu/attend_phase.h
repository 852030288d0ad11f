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

/* Instances of a phase body(kind, digits, n, b, c, pg) as name_KIND_DIGITS: of one kind, of the codes of at most 4 bits, of all integer kinds; and their rows in tables. */
#define ATTEND_OF_KIND(name, body, kind, digits)                                                                                           \
    VEC_INLINE void name##_any(const int n, attend_block *b, const attend_call *c, attend_page *pg) { body(kind, digits, n, b, c, pg); } \
    ATTEND_INSTANCES(name, name##_any)
#define ATTEND_SMALL_CODES(name, body, digits)                              \
    ATTEND_OF_KIND(name##_linear4_##digits, body, TILE_LINEAR4, digits)     \
    ATTEND_OF_KIND(name##_book4_##digits, body, TILE_BOOK4, digits)         \
    ATTEND_OF_KIND(name##_book3_##digits, body, TILE_BOOK3, digits)         \
    ATTEND_OF_KIND(name##_book2_##digits, body, TILE_BOOK2, digits)
#define ATTEND_INTEGERS(name, body, digits)                                 \
    ATTEND_OF_KIND(name##_linear8_##digits, body, TILE_LINEAR8, digits)     \
    ATTEND_SMALL_CODES(name, body, digits)
#define ATTEND_SMALL_CODE_ROWS(name, digits)                                                                                   \
    [TILE_LINEAR4] = ATTEND_ROW(name##_linear4_##digits), [TILE_BOOK4] = ATTEND_ROW(name##_book4_##digits),                    \
    [TILE_BOOK3] = ATTEND_ROW(name##_book3_##digits), [TILE_BOOK2] = ATTEND_ROW(name##_book2_##digits)
/* With the phase name_f16 for f16. */
#define ATTEND_TABLE(name, digits)                                                                                             \
    {[ATTEND_F16] = ATTEND_ROW(name##_f16), [TILE_LINEAR8] = ATTEND_ROW(name##_linear8_##digits), ATTEND_SMALL_CODE_ROWS(name, digits)}

/* Channels of keys, and rows of 64 bytes, that are worked on together. */
VEC_INLINE int k_step_channels(const tile_kind kind) { return kind == TILE_BOOK3 ? 32 : 16; }
VEC_INLINE int k_step_rows(const tile_kind kind) { return kind == TILE_LINEAR8 ? 4 : kind == TILE_BOOK3 ? 3 : kind == TILE_BOOK2 ? 1 : 2; }

/* What a pass over two vectors of channels of values (one in a last half unit) works on. */
typedef struct v_pass {
    const uint8_t *row;
    const uint32_t *p;
    float *const *o;
    int channel;
    const float *factor;
    bool asks; /* the first pass over these bytes asks for the next page's */
} v_pass;
#endif
