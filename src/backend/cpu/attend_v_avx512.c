/* Last phase of the packed attention: the rows' weights times the V tile, added to their outputs. */
#include "attend_book_avx512.h"
#include "attend_f16.h"

/* Accumulators of a chunk of rows for two vectors of 16 channels, high and low digit of the weights; one digit is the high one. */
typedef struct v_acc { __m512i a[2][2][BLOCK_ROWS]; } v_acc;

/* Rows at once, so that accumulators fit. */
VEC_INLINE int chunk_of(const int n, const int digits) { return digits == 2 && n > 4 ? 4 : n; }

VEC_INLINE void v_acc_start(const int n, const int vecs, const int digits, v_acc *acc) {
    VEC_UNROLL(2) for (int d = 0; d < digits; d++) {
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) VEC_UNROLL(8) for (int r = 0; r < n; r++) acc->a[d][k][r] = _mm512_setzero_si512();
    }
}

/* Tokens of quad i: codes c[k] with the weights p [n][2 digits][16]. */
VEC_INLINE void v_acc_quad(const int n, const int vecs, const int digits, v_acc *acc, const __m512i *c, const uint32_t *p, int i) {
    VEC_UNROLL(2) for (int d = 0; d < digits; d++) {
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            const __m512i w = _mm512_set1_epi32((int)p[(r * 2 + d) * 16 + i]);
            VEC_UNROLL(2) for (int k = 0; k < vecs; k++) acc->a[d][k][r] = dot_lanes(acc->a[d][k][r], w, c[k]);
        }
    }
}

VEC_INLINE void v_acc_add(const int n, const int vecs, const int digits, const v_acc *acc, float *const *o, int c, const float *factor) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        const __m512 f = _mm512_set1_ps(factor[lane_of(r)]);
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) {
            const __m512i sum = digits == 2 ? _mm512_add_epi32(_mm512_slli_epi32(acc->a[0][k][r], 8), acc->a[1][k][r]) : acc->a[0][k][r];
            float *at = o[r] + c + k * 16;
            _mm512_storeu_ps(at, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), f, _mm512_loadu_ps(at)));
        }
    }
}

/* What a pass over two vectors of channels (one in a last half unit) works on. */
typedef struct v_pass {
    const uint8_t *row;
    const uint32_t *p;
    float *const *o;
    int channel;
    const float *factor;
    bool asks; /* the first pass over these bytes asks for the next page's */
} v_pass;

/* The codes of rows i (and i + 8 in `late`) of the pass; part: which two vectors of the unit. */
VEC_INLINE void v_codes(const tile_kind kind, const int part, const attend_book *book, const uint8_t *row, int i, __m512i *c, __m512i *late) {
    const __m512i high = _mm512_set1_epi8((char)0xf0);
    if (kind == TILE_LINEAR8) {
        c[0] = _mm512_loadu_si512(row + i * 64), c[1] = _mm512_loadu_si512(row + 1024 + i * 64);
    } else if (kind == TILE_BOOK3) {
        const __m512i a = _mm512_loadu_si512(row + i * 192), b = _mm512_loadu_si512(row + i * 192 + 64);
        if (part == 0) {
            c[0] = book_at(book, 0, a), c[1] = book_at(book, 1, a), late[0] = book_at(book, 0, b), late[1] = book_at(book, 1, b);
        } else {
            const __m512i third = _mm512_loadu_si512(row + i * 192 + 128), top = top_of_3(a, b, third);
            c[0] = book_at(book, 0, third), c[1] = book_at(book, 1, third), late[0] = book_at(book, 0, top), late[1] = book_at(book, 1, top);
        }
    } else {
        const __m512i raw = _mm512_loadu_si512(row + i * 64);
        /* Codes of even steps stay shifted up by 4 bits in their bytes (the factor makes up for it): one operation less. */
        if (kind == TILE_LINEAR4) c[0] = _mm512_and_si512(_mm512_slli_epi16(raw, 4), high), c[1] = _mm512_and_si512(raw, high);
        if (kind == TILE_BOOK4) c[0] = book_at(book, 0, raw), c[1] = book_at(book, 0, _mm512_srli_epi16(raw, 4));
        if (kind == TILE_BOOK2) c[0] = book_of_2(book, raw, 2 * part), c[1] = book_of_2(book, raw, 2 * part + 1);
    }
}

/* Lines asked for with 4 quads of tokens; three tenths of a page in this phase. */
VEC_INLINE int v_ahead(const tile_kind kind) { return kind == TILE_LINEAR8 ? 6 : kind == TILE_BOOK3 ? 4 : 3; }

VEC_INLINE void v_run(const tile_kind kind, const int n, const int digits, const int part, const attend_book *book, const v_pass *pass, attend_page *pg) {
    const uint32_t *p = pass->p;
    v_acc acc;
    v_acc_start(n, 2, digits, &acc);
    __asm__ volatile("" : "+r"(p) : : "memory"); /* or the broadcasts are hoisted to the stack */
    for (int i = 0; i < (kind == TILE_BOOK3 ? 8 : 16); i += 4) {
        if (pass->asks) pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, v_ahead(kind));
        VEC_UNROLL(4) for (int j = 0; j < 4; j++) {
            __m512i c[2], late[2];
            v_codes(kind, part, book, pass->row, i + j, c, late);
            v_acc_quad(n, 2, digits, &acc, c, p, i + j);
            if (kind == TILE_BOOK3) v_acc_quad(n, 2, digits, &acc, late, p, i + j + 8);
        }
    }
    v_acc_add(n, 2, digits, &acc, pass->o, pass->channel, pass->factor);
}

/* A last unit of 16 channels: bytes are one vector, or the two nibbles of a byte are two tokens. */
VEC_INLINE void v_tail(const tile_kind kind, const int n, const int digits, const attend_book *book, const v_pass *pass) {
    v_acc acc;
    v_acc_start(n, 1, digits, &acc);
    for (int i = 0; i < (kind == TILE_LINEAR8 ? 16 : 8); i++) {
        if (kind == TILE_LINEAR8) {
            const __m512i c = _mm512_loadu_si512(pass->row + i * 64);
            v_acc_quad(n, 1, digits, &acc, &c, pass->p, i);
        } else {
            __m512i c[2];
            v_codes(kind, 0, book, pass->row, i, c, NULL);
            v_acc_quad(n, 1, digits, &acc, c, pass->p, i);
            v_acc_quad(n, 1, digits, &acc, c + 1, pass->p, i + 8);
        }
    }
    v_acc_add(n, 1, digits, &acc, pass->o, pass->channel, pass->factor);
}

/* Two vectors of channels at a time. Units of 64 channels are gone over twice. */
VEC_INLINE void v_integer(const tile_kind kind, const int digits, const int n, attend_block *b, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->v;
    const attend_book book = attend_book_of(kind, t16, 0);
    const int chunk = chunk_of(n, digits), unit = kind == TILE_BOOK2 || kind == TILE_BOOK3 ? 64 : 32;
    for (int c = 0; c < t16->dim; c += 32) {
        const int g = c / t16->group;
        v_pass pass = {.row = pg->v + t16->codes + (ptrdiff_t)(c / unit * unit) * 8 * t16->bits, .channel = c, .asks = true};
        for (int r = 0; r < n; r += chunk, pass.asks = false) {
            pass.p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            pass.o = b->o + r;
            pass.factor = pg->factor[g] + lane_of(r);
            if (t16->dim - c < 32) v_tail(kind, chunk, digits, &book, &pass);
            else if (unit == 64 && c % 64) v_run(kind, chunk, digits, 1, &book, &pass, pg);
            else v_run(kind, chunk, digits, 0, &book, &pass, pg);
        }
    }
}

#define V_INSTANCES(name, kind)                                                                                                            \
    VEC_INLINE void name##_one(const int n, attend_block *b, const attend_call *c, attend_page *pg) { v_integer(kind, 1, n, b, c, pg); } \
    VEC_INLINE void name##_two(const int n, attend_block *b, const attend_call *c, attend_page *pg) { v_integer(kind, 2, n, b, c, pg); } \
    ATTEND_INSTANCES(name##_1_digit, name##_one)                                                                                           \
    ATTEND_INSTANCES(name##_2_digits, name##_two)
V_INSTANCES(v_linear8, TILE_LINEAR8)
V_INSTANCES(v_linear4, TILE_LINEAR4)
V_INSTANCES(v_book4, TILE_BOOK4)
V_INSTANCES(v_book3, TILE_BOOK3)
V_INSTANCES(v_book2, TILE_BOOK2)
ATTEND_INSTANCES(v_f16, v_f16)

#define V_TABLE(digits)                                                                                                                        \
    {                                                                                                                                          \
        [ATTEND_F16] = ATTEND_ROW(v_f16), [TILE_LINEAR8] = ATTEND_ROW(v_linear8_##digits), [TILE_LINEAR4] = ATTEND_ROW(v_linear4_##digits),    \
        [TILE_BOOK4] = ATTEND_ROW(v_book4_##digits), [TILE_BOOK3] = ATTEND_ROW(v_book3_##digits), [TILE_BOOK2] = ATTEND_ROW(v_book2_##digits), \
    }
const attend_phase ingot_attend_v_avx512[2][ATTEND_KINDS][BLOCK_SIZES] = {V_TABLE(1_digit), V_TABLE(2_digits)};
