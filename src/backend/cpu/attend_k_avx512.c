/* First phase of the packed attention: scores of a block of rows with the 64 tokens of a K tile. */
#include "attend_book_avx512.h"
#include "attend_f16.h"

/* Accumulators for `tbs` token blocks; one digit is the low one. High digits start at 0, low ones at the excess of the codes. */
typedef struct k_acc { __m512i hi[4][BLOCK_ROWS], lo[4][BLOCK_ROWS]; } k_acc;

VEC_INLINE void k_acc_start(const int n, const int tbs, const int digits, k_acc *acc, const int32_t *offset) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
            if (digits == 2) acc->hi[t][r] = _mm512_setzero_si512();
            acc->lo[t][r] = _mm512_set1_epi32(offset[r]);
        }
    }
}

/* One quad of channels: codes c[t] of each token block with the rows' digits at q [digits][n]. Returns where the next quad's are. */
VEC_INLINE const int32_t *k_acc_quad(const int n, const int tbs, const int digits, k_acc *acc, const __m512i *c, const int32_t *q) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        if (digits == 2) VEC_UNROLL(4) for (int t = 0; t < tbs; t++) acc->hi[t][r] = dot_broadcast(acc->hi[t][r], c[t], q + r);
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) acc->lo[t][r] = dot_broadcast(acc->lo[t][r], c[t], q + (digits - 1) * n + r);
    }
    return q + digits * n;
}

VEC_INLINE __m512 k_acc_value(const int digits, const k_acc *acc, int t, int r) {
    return _mm512_cvtepi32_ps(digits == 2 ? _mm512_add_epi32(_mm512_slli_epi32(acc->hi[t][r], 8), acc->lo[t][r]) : acc->lo[t][r]);
}

/* Channels and rows of 64 bytes of a step. */
VEC_INLINE int k_step_channels(const tile_kind kind) { return kind == TILE_BOOK3 ? 32 : 16; }
VEC_INLINE int k_step_rows(const tile_kind kind) { return kind == TILE_LINEAR8 ? 4 : kind == TILE_BOOK3 ? 3 : kind == TILE_BOOK2 ? 1 : 2; }

#define K_QUAD(code)                                                     \
    do {                                                                 \
        __m512i c[4];                                                    \
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) c[t] = code;         \
        q = k_acc_quad(n, tbs, digits, acc, c, q);                       \
    } while (0)

/* The token blocks lie tb_bytes apart. */
VEC_INLINE const int32_t *k_step(const tile_kind kind, const int n, const int tbs, const int digits, k_acc *acc, const attend_book *book, const uint8_t *row,
                                 ptrdiff_t tb_bytes, const int32_t *q) {
    const __m512i low = _mm512_set1_epi8(15);
    __m512i raw[4][4];
    VEC_UNROLL(4) for (int j = 0; j < k_step_rows(kind); j++) {
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) raw[j][t] = _mm512_loadu_si512(row + t * tb_bytes + j * 64);
        if (kind == TILE_LINEAR8) K_QUAD(raw[j][t]);
        if (kind == TILE_LINEAR4) {
            K_QUAD(_mm512_and_si512(raw[j][t], low));
            K_QUAD(_mm512_and_si512(_mm512_srli_epi16(raw[j][t], 4), low));
        }
        if (kind == TILE_BOOK4) {
            K_QUAD(book_at(book, 0, raw[j][t]));
            K_QUAD(book_at(book, 0, _mm512_srli_epi16(raw[j][t], 4)));
        }
        if (kind == TILE_BOOK2) {
            VEC_UNROLL(4) for (int k = 0; k < 4; k++) K_QUAD(book_of_2(book, raw[j][t], k));
        }
        if (kind == TILE_BOOK3) {
            K_QUAD(book_at(book, 0, raw[j][t]));
            K_QUAD(book_at(book, 1, raw[j][t]));
        }
    }
    if (kind == TILE_BOOK3) {
        __m512i top[4];
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) top[t] = top_of_3(raw[0][t], raw[1][t], raw[2][t]);
        K_QUAD(book_at(book, 0, top[t]));
        K_QUAD(book_at(book, 1, top[t]));
    }
    return q;
}

/* All channels of a group, and lines of the next page asked for as rows go by: two fifths of a page in this phase. */
VEC_INLINE const int32_t *k_group(const tile_kind kind, const int n, const int tbs, const int digits, k_acc *acc, const attend_book *book, const uint8_t *row,
                                  ptrdiff_t tb_bytes, int channels, const int32_t *q, attend_page *pg) {
    const int step = k_step_channels(kind), rows = k_step_rows(kind);
    const char *ahead = pg->ahead, *const end = pg->ahead_end;
    for (; channels >= 2 * step; channels -= 2 * step, row += 2 * rows * 64) {
        ahead = ask_ahead(ahead, end, rows * tbs);
        q = k_step(kind, n, tbs, digits, acc, book, row, tb_bytes, q);
        ahead = ask_ahead(ahead, end, rows * tbs);
        q = k_step(kind, n, tbs, digits, acc, book, row + rows * 64, tb_bytes, q);
    }
    if (channels > 0) {
        ahead = ask_ahead(ahead, end, rows * tbs);
        q = k_step(kind, n, tbs, digits, acc, book, row, tb_bytes, q);
    }
    pg->ahead = ahead;
    return q;
}

/* `tbs` token blocks at once give 8 to 16 independent chains. */
VEC_INLINE void k_tokens(const tile_kind kind, const int n, const int tbs, const int digits, const attend_block *b, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->k;
    const attend_book book = attend_book_of(kind, t16, 128);
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k, *offsets = (const uint16_t *)(const void *)(pg->k + t16->offsets);
    const ptrdiff_t tb_bytes = (ptrdiff_t)t16->dim * t16->bits * 2, tb_scales = (ptrdiff_t)t16->n_groups * 16;
    const bool mids = t16->has_offset;
    const __m512 shift = _mm512_set1_ps(t16->shift);
    for (int tb0 = 0; tb0 < 4; tb0 += tbs) {
        const int32_t *q = b->q;
        __m512 s[4][BLOCK_ROWS];
        VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(4) for (int t = 0; t < tbs; t++) s[t][r] = _mm512_setzero_ps();
        for (int g = 0, c = 0; c < t16->dim; g++, c += t16->group) {
            const int channels = t16->dim - c < t16->group ? t16->dim - c : t16->group;
            const uint8_t *row = pg->k + t16->codes + tb0 * tb_bytes + (ptrdiff_t)c * t16->bits * 2;
            k_acc acc;
            k_acc_start(n, tbs, digits, &acc, b->offset + g * n);
            q = k_group(kind, n, tbs, digits, &acc, &book, row, tb_bytes, channels, q, pg);
            VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
                const ptrdiff_t at = (tb0 + t) * tb_scales + g * 16;
                const __m512 sc = vf_halves(scales + at);
                VEC_UNROLL(8) for (int r = 0; r < n; r++) s[t][r] = _mm512_fmadd_ps(k_acc_value(digits, &acc, t, r), sc, s[t][r]);
                if (!mids) continue;
                const __m512 mid = _mm512_fmadd_ps(sc, shift, vf_halves(offsets + at));
                VEC_UNROLL(8) for (int r = 0; r < n; r++) s[t][r] = _mm512_fmadd_ps(mid, _mm512_set1_ps(b->q_sum[g * n + r]), s[t][r]);
            }
        }
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            VEC_UNROLL(4) for (int t = 0; t < tbs; t++) _mm512_storeu_ps(pg->x + r * 64 + (tb0 + t) * 16, _mm512_mul_ps(s[t][r], _mm512_set1_ps(b->step[r])));
        }
    }
}

/* Scales per channel are in the queries already. */
VEC_INLINE void k_channels(const tile_kind kind, const int n, const int tbs, const int digits, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->k;
    const attend_book book = attend_book_of(kind, t16, 128);
    const ptrdiff_t tb_bytes = (ptrdiff_t)t16->dim * t16->bits * 2;
    for (int tb0 = 0; tb0 < 4; tb0 += tbs) {
        const attend_scaled *scaled = &pg->scaled[tb0 * 16 / t16->tokens];
        k_acc acc;
        k_acc_start(n, tbs, digits, &acc, scaled->offset);
        k_group(kind, n, tbs, digits, &acc, &book, pg->k + t16->codes + tb0 * tb_bytes, tb_bytes, t16->dim, scaled->q, pg);
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            const __m512 step = _mm512_set1_ps(scaled->step[r]), add = _mm512_set1_ps(scaled->add[r]);
            VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
                _mm512_storeu_ps(pg->x + r * 64 + (tb0 + t) * 16, _mm512_fmadd_ps(k_acc_value(digits, &acc, t, r), step, add));
            }
        }
    }
}

/* Token blocks at once: as many as leave registers for sums and accumulators. A block of tokens with common scales has two or four. */
VEC_INLINE int tbs_of(const int n, const int digits) { return n * (digits + 1) * 4 <= 24 ? 4 : n * (digits + 1) * 2 <= 24 ? 2 : 1; }

VEC_INLINE void k_integer(const tile_kind kind, const int digits, const int n, const attend_block *b, const attend_call *call, attend_page *pg) {
    const int tbs = tbs_of(n, digits);
    if ((kind == TILE_LINEAR4 || kind == TILE_BOOK2) && call->k.tokens) k_channels(kind, n, tbs > 2 ? 2 : tbs, digits, call, pg);
    else k_tokens(kind, n, tbs, digits, b, call, pg);
}

#define K_INSTANCES(name, kind)                                                  \
    VEC_INLINE void name##_one(const int n, attend_block *b, const attend_call *c, attend_page *pg) { k_integer(kind, 1, n, b, c, pg); } \
    VEC_INLINE void name##_two(const int n, attend_block *b, const attend_call *c, attend_page *pg) { k_integer(kind, 2, n, b, c, pg); } \
    ATTEND_INSTANCES(name##_1_digit, name##_one)                                   \
    ATTEND_INSTANCES(name##_2_digits, name##_two)
K_INSTANCES(k_linear8, TILE_LINEAR8)
K_INSTANCES(k_linear4, TILE_LINEAR4)
K_INSTANCES(k_book4, TILE_BOOK4)
K_INSTANCES(k_book3, TILE_BOOK3)
K_INSTANCES(k_book2, TILE_BOOK2)
ATTEND_INSTANCES(k_f16, k_f16)

#define K_TABLE(digits)                                                                                                                        \
    {                                                                                                                                          \
        [ATTEND_F16] = ATTEND_ROW(k_f16), [TILE_LINEAR8] = ATTEND_ROW(k_linear8_##digits), [TILE_LINEAR4] = ATTEND_ROW(k_linear4_##digits),    \
        [TILE_BOOK4] = ATTEND_ROW(k_book4_##digits), [TILE_BOOK3] = ATTEND_ROW(k_book3_##digits), [TILE_BOOK2] = ATTEND_ROW(k_book2_##digits), \
    }
const attend_phase ingot_attend_k_avx512[2][ATTEND_KINDS][BLOCK_SIZES] = {K_TABLE(1_digit), K_TABLE(2_digits)};
