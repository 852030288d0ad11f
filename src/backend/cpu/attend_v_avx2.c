/* Last phase of the packed attention, AVX2: codes widened to 16 bits, times the 16-bit weights. */
#include "attend_book_avx2.h"
#include "attend_f16.h"

/* Codes of tokens i and i + 32 (even), i + 16 and i + 48 (odd) with the weights p [n][even, odd][16] of quad i. */
VEC_INLINE void v_quad(const int n, __m256i *acc, attend_pairs c, const uint32_t *p, int i) {
    VEC_UNROLL(4) for (int r = 0; r < n; r++) {
        acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(c.even, _mm256_set1_epi32((int)p[r * 32 + i])));
        acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(c.odd, _mm256_set1_epi32((int)p[r * 32 + 16 + i])));
    }
}

VEC_INLINE void v_add(const int n, const __m256i *acc, float *const *o, int c, const float *factor) {
    VEC_UNROLL(4) for (int r = 0; r < n; r++) {
        float *at = o[r] + c;
        _mm256_storeu_ps(at, _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc[r]), _mm256_set1_ps(factor[r]), _mm256_loadu_ps(at)));
    }
}

/* Rows i of 8 lanes of two vectors of channels (part: which two of the unit): c[0], c[1]; of 3-bit codes rows i + 8 too, c[2], c[3]. */
VEC_INLINE void v_codes(const tile_kind kind, const int part, __m256i book, const uint8_t *row, int i, attend_pairs *c) {
    if (kind == TILE_LINEAR8) {
        c[0] = pairs_signed(_mm256_loadu_si256((const void *)(row + i * 64)));
        c[1] = pairs_signed(_mm256_loadu_si256((const void *)(row + 1024 + i * 64)));
        return;
    }
    if (kind == TILE_BOOK3) {
        const __m256i a = _mm256_loadu_si256((const void *)(row + i * 192)), b = _mm256_loadu_si256((const void *)(row + i * 192 + 64));
        const __m256i d = _mm256_loadu_si256((const void *)(row + i * 192 + 128)), first = part ? d : a, late = part ? top_of_3(a, b, d) : b;
        VEC_UNROLL(2) for (int k = 0; k < 2; k++) c[k] = pairs_of_book(book, first, 3 * k), c[2 + k] = pairs_of_book(book, late, 3 * k);
        return;
    }
    const __m256i x = _mm256_loadu_si256((const void *)(row + i * 64));
    VEC_UNROLL(2) for (int k = 0; k < 2; k++) {
        if (kind == TILE_LINEAR4) c[k] = nibbles_signed(x, k);
        if (kind == TILE_BOOK4) c[k] = pairs_of_book(book, x, 4 * k);
        if (kind == TILE_BOOK2) c[k] = pairs_of_book(book, x, 4 * part + 2 * k);
    }
}

VEC_INLINE void v_run(const tile_kind kind, const int n, const int part, __m256i book, const v_pass *pass, attend_page *pg) {
    for (int h = 0; h < 16; h += 8) {
        __m256i acc[2][4];
        VEC_UNROLL(2) for (int k = 0; k < 2; k++) VEC_UNROLL(4) for (int r = 0; r < n; r++) acc[k][r] = _mm256_setzero_si256();
        for (int i = 0; i < (kind == TILE_BOOK3 ? 8 : 16); i++) {
            attend_pairs c[4];
            if (i % 2 == 0) pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, kind == TILE_LINEAR8 ? 2 : 1);
            v_codes(kind, part, book, pass->row + h * 4, i, c);
            VEC_UNROLL(2) for (int k = 0; k < 2; k++) {
                v_quad(n, acc[k], c[k], pass->p, i);
                if (kind == TILE_BOOK3) v_quad(n, acc[k], c[2 + k], pass->p, i + 8);
            }
        }
        VEC_UNROLL(2) for (int k = 0; k < 2; k++) v_add(n, acc[k], pass->o, pass->channel + 16 * k + h, pass->factor);
    }
}

/* The last 16 channels: bytes are one vector, or the two nibbles of a byte are two tokens. */
VEC_INLINE void v_tail(const tile_kind kind, const int n, __m256i book, const v_pass *pass) {
    for (int h = 0; h < 16; h += 8) {
        __m256i acc[4];
        VEC_UNROLL(4) for (int r = 0; r < n; r++) acc[r] = _mm256_setzero_si256();
        for (int i = 0; i < (kind == TILE_LINEAR8 ? 16 : 8); i++) {
            attend_pairs c[4];
            if (kind == TILE_LINEAR8) {
                v_quad(n, acc, pairs_signed(_mm256_loadu_si256((const void *)(pass->row + h * 4 + i * 64))), pass->p, i);
                continue;
            }
            v_codes(kind, 0, book, pass->row + h * 4, i, c);
            VEC_UNROLL(2) for (int k = 0; k < 2; k++) v_quad(n, acc, c[k], pass->p, i + 8 * k);
        }
        v_add(n, acc, pass->o, pass->channel + h, pass->factor);
    }
}

VEC_INLINE void v_integer(const tile_kind kind, const int n, attend_block *b, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->v;
    const __m256i book = attend_book_of(TILE_BOOK4, t16, 0).table[0];
    const int chunk = n > 4 ? 4 : n, unit = kind == TILE_BOOK2 || kind == TILE_BOOK3 ? 64 : 32;
    for (int c = 0; c < t16->dim; c += 32) {
        const int g = c / t16->group;
        v_pass pass = {.row = pg->v + t16->codes + (ptrdiff_t)(c / unit * unit) * 8 * t16->bits, .channel = c};
        for (int r = 0; r < n; r += chunk) {
            pass.p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            pass.o = b->o + r;
            pass.factor = pg->factor[g] + lane_of(r);
            if (t16->dim - c < 32) v_tail(kind, chunk, book, &pass);
            else if (unit == 64 && c % 64) v_run(kind, chunk, 1, book, &pass, pg);
            else v_run(kind, chunk, 0, book, &pass, pg);
        }
    }
}

#define V_PRECISE(kind, digits, n, b, c, pg) v_integer(kind, n, b, c, pg)
ATTEND_INTEGERS(v, V_PRECISE, 2)
ATTEND_INSTANCES(v_f16, v_f16)

const attend_phase ingot_attend_v_avx2[ATTEND_KINDS][BLOCK_SIZES] = ATTEND_TABLE(v, 2);
