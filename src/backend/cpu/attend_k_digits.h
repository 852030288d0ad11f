/* First phase of the packed attention in integers: scores of a block of rows with the 64 tokens of a K tile, by dot products of bytes. For files compiled for
 * one instruction set, which provide before:
 *   dot_sum                               VW sums of products of quads of bytes, with dot_start(x), dot_float(s), dot_float_2(s of high digits, s of low ones)
 *   dot_broadcast(kind, s, u, m)          s + products of the unsigned bytes u with the four signed ones at m, the same in all lanes
 *   dot_quads(kind), dot_settle(s)        if not 0, sums must be settled after so many quads (4 or 8)
 *   dot_excess(kind)                      what the unsigned codes are larger by than the numbers of the kind
 *   attend_book, attend_book_of(kind, tile, excess), k_code(kind, book, row, k), top_of_3(a, b, c)
 *   k_rows_at_once(n, digits)             a divisor of n
 *   k_vectors_at_once(n, digits)          of tokens: 1, 2 or 4. Enough for 8 to 16 chains, as many as leave registers for sums of floats */
#ifndef INGOT_CPU_ATTEND_K_DIGITS_H
#define INGOT_CPU_ATTEND_K_DIGITS_H
#include "attend_phase.h"

/* One phase's geometry, known when it is compiled: rows of the block and rows at once; vectors of tokens. */
typedef struct k_form { tile_kind kind; int n, rows, vecs, digits; } k_form;

/* One digit is the low one. High digits start at 0, low ones at the excess of the codes. */
typedef struct k_acc { dot_sum hi[4][BLOCK_ROWS], lo[4][BLOCK_ROWS]; } k_acc;

VEC_INLINE void k_acc_start(const k_form f, k_acc *acc, const int32_t *offset) {
    VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) {
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) {
            if (f.digits == 2) acc->hi[t][r] = dot_start(0);
            acc->lo[t][r] = dot_start(offset[r]);
        }
    }
}

VEC_INLINE void k_acc_settle(const k_form f, k_acc *acc) {
    VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) {
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) {
            if (f.digits == 2) acc->hi[t][r] = dot_settle(acc->hi[t][r]);
            acc->lo[t][r] = dot_settle(acc->lo[t][r]);
        }
    }
}

/* One quad of channels: codes c[t] of each vector of tokens with the rows' digits at q [digits][n]. Returns where the next quad's are. */
VEC_INLINE const int32_t *k_acc_quad(const k_form f, k_acc *acc, const vi *c, const int32_t *q) {
    VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) {
        if (f.digits == 2) VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) acc->hi[t][r] = dot_broadcast(f.kind, acc->hi[t][r], c[t], q + r);
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) acc->lo[t][r] = dot_broadcast(f.kind, acc->lo[t][r], c[t], q + (f.digits - 1) * f.n + r);
    }
    return q + f.digits * f.n;
}

VEC_INLINE vf k_acc_value(const int digits, const k_acc *acc, int t, int r) {
    return digits == 2 ? dot_float_2(acc->hi[t][r], acc->lo[t][r]) : dot_float(acc->lo[t][r]);
}

/* Codes side by side in a byte. */
VEC_INLINE int k_codes_of_byte(const tile_kind kind) { return kind == TILE_LINEAR8 ? 1 : kind == TILE_BOOK2 ? 4 : 2; }

/* Where vector t of tokens lies behind the first, in a tile whose token blocks are tb_bytes apart. */
VEC_INLINE ptrdiff_t k_vector_at(int t, ptrdiff_t tb_bytes) { return t * VW / 16 * tb_bytes + t * VW % 16 * 4; }

VEC_INLINE const int32_t *k_row_quads(const k_form f, k_acc *acc, const attend_book *book, const vi *raw, const int32_t *q) {
    VEC_UNROLL(4) for (int k = 0; k < k_codes_of_byte(f.kind); k++) {
        vi c[4];
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) c[t] = k_code(f.kind, book, raw[t], k);
        q = k_acc_quad(f, acc, c, q);
    }
    return q;
}

VEC_INLINE const int32_t *k_step(const k_form f, k_acc *acc, const attend_book *book, const uint8_t *row, ptrdiff_t tb_bytes, const int32_t *q) {
    vi raw[4][4];
    VEC_UNROLL(4) for (int j = 0; j < k_step_rows(f.kind); j++) {
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) raw[j][t] = vi_load(row + k_vector_at(t, tb_bytes) + j * 64);
        q = k_row_quads(f, acc, book, raw[j], q);
    }
    if (f.kind == TILE_BOOK3) {
        vi top[4];
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) top[t] = top_of_3(raw[0][t], raw[1][t], raw[2][t]);
        q = k_row_quads(f, acc, book, top, q);
    }
    return q;
}

/* All channels of a group, and lines of the next page asked for as rows go by: two fifths of a page in this phase. */
VEC_INLINE const int32_t *k_group(const k_form f, k_acc *acc, const attend_book *book, const uint8_t *row, ptrdiff_t tb_bytes, int channels, const int32_t *q,
                                  attend_page *pg) {
    const int step = k_step_channels(f.kind), rows = k_step_rows(f.kind), lines = (rows * f.vecs * VW + 15) / 16;
    const char *ahead = pg->ahead, *const end = pg->ahead_end;
    for (; channels >= 2 * step; channels -= 2 * step, row += 2 * rows * 64) {
        ahead = ask_ahead(ahead, end, lines);
        q = k_step(f, acc, book, row, tb_bytes, q);
        if (dot_quads(f.kind) == 4) k_acc_settle(f, acc);
        ahead = ask_ahead(ahead, end, lines);
        q = k_step(f, acc, book, row + rows * 64, tb_bytes, q);
        if (dot_quads(f.kind)) k_acc_settle(f, acc);
    }
    if (channels > 0) {
        ahead = ask_ahead(ahead, end, lines);
        q = k_step(f, acc, book, row, tb_bytes, q);
        if (dot_quads(f.kind)) k_acc_settle(f, acc);
    }
    pg->ahead = ahead;
    return q;
}

/* Scores of `f.rows` rows from r0 on with `f.vecs` vectors of tokens from t0 on. */
VEC_INLINE void k_tokens(const k_form f, int r0, int t0, const attend_book *book, const attend_block *b, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->k;
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k, *offsets = (const uint16_t *)(const void *)(pg->k + t16->offsets);
    const ptrdiff_t tb_bytes = (ptrdiff_t)t16->dim * t16->bits * 2;
    const bool mids = t16->has_offset;
    const vf shift = vf_set(t16->shift);
    const int32_t *q = b->q + r0;
    vf s[4][BLOCK_ROWS];
    VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) s[t][r] = vf_zero();
    for (int g = 0, c = 0; c < t16->dim; g++, c += t16->group) {
        const int channels = t16->dim - c < t16->group ? t16->dim - c : t16->group;
        const uint8_t *row = pg->k + t16->codes + k_vector_at(t0 / VW, tb_bytes) + (ptrdiff_t)c * t16->bits * 2;
        k_acc acc;
        k_acc_start(f, &acc, b->offset + g * f.n + r0);
        q = k_group(f, &acc, book, row, tb_bytes, channels, q, pg);
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) {
            const size_t at = tile16_k_scale(t16->n_groups, g, t0 + t * VW);
            const vf scale = vf_halves(scales + at);
            VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) s[t][r] = vf_fma(k_acc_value(f.digits, &acc, t, r), scale, s[t][r]);
            if (!mids) continue;
            const vf mid = vf_fma(scale, shift, vf_halves(offsets + at));
            VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) s[t][r] = vf_fma(mid, vf_set(b->q_sum[g * f.n + r0 + r]), s[t][r]);
        }
    }
    VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) {
        const vf step = vf_set(b->step[r0 + r]);
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) vf_store(pg->x + (r0 + r) * 64 + t0 + t * VW, vf_mul(s[t][r], step));
    }
}

/* The same where scales per channel are in the queries already. */
VEC_INLINE void k_channels(const k_form f, int r0, int t0, const attend_book *book, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->k;
    const ptrdiff_t tb_bytes = (ptrdiff_t)t16->dim * t16->bits * 2;
    const attend_scaled *scaled = &pg->scaled[t0 / t16->tokens];
    k_acc acc;
    k_acc_start(f, &acc, scaled->offset + r0);
    k_group(f, &acc, book, pg->k + t16->codes + k_vector_at(t0 / VW, tb_bytes), tb_bytes, t16->dim, scaled->q + r0, pg);
    VEC_UNROLL(8) for (int r = 0; r < f.rows; r++) {
        const vf step = vf_set(scaled->step[r0 + r]), add = vf_set(scaled->add[r0 + r]);
        VEC_UNROLL(4) for (int t = 0; t < f.vecs; t++) vf_store(pg->x + (r0 + r) * 64 + t0 + t * VW, vf_fma(k_acc_value(f.digits, &acc, t, r), step, add));
    }
}

/* A block of tokens with common scales has at least 32. */
VEC_INLINE void k_integer(const tile_kind kind, const int digits, const int n, const attend_block *b, const attend_call *call, attend_page *pg) {
    const bool per_channel = (kind == TILE_LINEAR4 || kind == TILE_BOOK2) && call->k.tokens;
    const attend_book book = attend_book_of(kind, &call->k, dot_excess(kind));
    const int rows = k_rows_at_once(n, digits), vecs = k_vectors_at_once(n, digits), few = vecs < 32 / VW ? vecs : 32 / VW;
    for (int r0 = 0; r0 < n; r0 += rows) {
        if (per_channel) {
            for (int t0 = 0; t0 < 64; t0 += few * VW) k_channels((k_form){kind, n, rows, few, digits}, r0, t0, &book, call, pg);
        } else {
            for (int t0 = 0; t0 < 64; t0 += vecs * VW) k_tokens((k_form){kind, n, rows, vecs, digits}, r0, t0, &book, b, call, pg);
        }
    }
}
#endif
