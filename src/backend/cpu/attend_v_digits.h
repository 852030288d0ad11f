/* Last phase of the packed attention in integers: the rows' weights times the V tile, added to their outputs, by dot products of bytes. For files compiled for
 * one instruction set, which provide before what attend_k_digits.h wants, but
 *   dot_lanes(kind, s, u, w)              s + products of the unsigned bytes u with the signed ones w
 *   v_code(kind, book, row, k)            code k of each byte, signed
 *   v_rows_at_once(n, digits)             so that accumulators fit: two vectors of channels for each row and digit */
#ifndef INGOT_CPU_ATTEND_V_DIGITS_H
#define INGOT_CPU_ATTEND_V_DIGITS_H
#include "attend_phase.h"

/* Accumulators of a chunk of rows for two vectors of channels, high and low digit of the weights; one digit is the high one. */
typedef struct v_acc { dot_sum a[2][2][BLOCK_ROWS]; } v_acc;

VEC_INLINE void v_acc_start(const int n, const int vecs, const int digits, v_acc *acc) {
    VEC_UNROLL(2) for (int d = 0; d < digits; d++) {
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) VEC_UNROLL(8) for (int r = 0; r < n; r++) acc->a[d][k][r] = dot_start(0);
    }
}

/* Tokens of quad i: codes c[k] with the weights p [n][2 digits][16]. */
VEC_INLINE void v_acc_quad(const tile_kind kind, const int n, const int vecs, const int digits, v_acc *acc, const vi *c, const uint32_t *p, int i) {
    VEC_UNROLL(2) for (int d = 0; d < digits; d++) {
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            const vi w = vi_set(p[(r * 2 + d) * 16 + i]);
            VEC_UNROLL(2) for (int k = 0; k < vecs; k++) acc->a[d][k][r] = dot_lanes(kind, acc->a[d][k][r], w, c[k]);
        }
    }
}

VEC_INLINE void v_acc_settle(const int n, const int vecs, const int digits, v_acc *acc) {
    VEC_UNROLL(2) for (int d = 0; d < digits; d++) {
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) VEC_UNROLL(8) for (int r = 0; r < n; r++) acc->a[d][k][r] = dot_settle(acc->a[d][k][r]);
    }
}

VEC_INLINE void v_acc_add(const int n, const int vecs, const int digits, const v_acc *acc, float *const *o, int c, const float *factor) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        const vf f = vf_set(factor[lane_of(r)]);
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) {
            const vf sum = digits == 2 ? dot_float_2(acc->a[0][k][r], acc->a[1][k][r]) : dot_float(acc->a[0][k][r]);
            float *at = o[r] + c + k * 16;
            vf_store(at, vf_fma(sum, f, vf_load(at)));
        }
    }
}

/* The codes of rows i (and i + 8 in `late`) of the pass; part: which two vectors of the unit. */
VEC_INLINE void v_codes(const tile_kind kind, const int part, const attend_book *book, const uint8_t *row, int i, vi *c, vi *late) {
    if (kind == TILE_LINEAR8) {
        c[0] = vi_load(row + i * 64), c[1] = vi_load(row + 1024 + i * 64);
    } else if (kind == TILE_BOOK3) {
        const vi a = vi_load(row + i * 192), b = vi_load(row + i * 192 + 64);
        const vi third = part ? vi_load(row + i * 192 + 128) : a, fourth = part ? top_of_3(a, b, third) : b;
        VEC_UNROLL(2) for (int k = 0; k < 2; k++) c[k] = v_code(kind, book, third, k), late[k] = v_code(kind, book, fourth, k);
    } else {
        const vi raw = vi_load(row + i * 64);
        VEC_UNROLL(2) for (int k = 0; k < 2; k++) c[k] = v_code(kind, book, raw, kind == TILE_BOOK2 ? 2 * part + k : k);
    }
}

/* Lines asked for with 4 quads of tokens; three tenths of a page in this phase. */
VEC_INLINE int v_ahead(const tile_kind kind) { return kind == TILE_LINEAR8 ? 6 : kind == TILE_BOOK3 ? 4 : 3; }

/* Lanes from h on, VW of them. */
VEC_INLINE void v_run(const tile_kind kind, const int n, const int digits, const int part, const int h, const attend_book *book, const v_pass *pass, attend_page *pg) {
    const int run = dot_quads(kind) == 8 ? 8 : 4;
    const uint32_t *p = pass->p;
    v_acc acc;
    v_acc_start(n, 2, digits, &acc);
    __asm__ volatile("" : "+r"(p) : : "memory"); /* or the broadcasts are hoisted to the stack */
    for (int i = 0; i < (kind == TILE_BOOK3 ? 8 : 16); i += run) {
        VEC_UNROLL(8) for (int j = 0; j < run; j++) {
            vi c[2], late[2];
            if (pass->asks && j % 4 == 0) pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, (v_ahead(kind) * VW + 15) / 16);
            v_codes(kind, part, book, pass->row + h * 4, i + j, c, late);
            v_acc_quad(kind, n, 2, digits, &acc, c, p, i + j);
            if (kind == TILE_BOOK3) v_acc_quad(kind, n, 2, digits, &acc, late, p, i + j + 8);
        }
        if (dot_quads(kind)) v_acc_settle(n, 2, digits, &acc);
    }
    v_acc_add(n, 2, digits, &acc, pass->o, pass->channel + h, pass->factor);
}

/* A last unit of 16 channels: bytes are one vector, or the two nibbles of a byte are two tokens. */
VEC_INLINE void v_tail(const tile_kind kind, const int n, const int digits, const int h, const attend_book *book, const v_pass *pass) {
    v_acc acc;
    v_acc_start(n, 1, digits, &acc);
    for (int i = 0; i < (kind == TILE_LINEAR8 ? 16 : 8); i++) {
        const vi raw = vi_load(pass->row + h * 4 + i * 64);
        const vi first = v_code(kind, book, raw, 0), second = v_code(kind, book, raw, 1);
        v_acc_quad(kind, n, 1, digits, &acc, &first, pass->p, i);
        if (kind != TILE_LINEAR8) v_acc_quad(kind, n, 1, digits, &acc, &second, pass->p, i + 8);
        if (dot_quads(kind) && i % 2) v_acc_settle(n, 1, digits, &acc);
    }
    v_acc_add(n, 1, digits, &acc, pass->o, pass->channel + h, pass->factor);
}

/* All lanes of two vectors of 16 channels. */
VEC_INLINE void v_lanes(const tile_kind kind, const int n, const int digits, const attend_book *book, const v_pass *pass, int channels, int part, attend_page *pg) {
    VEC_UNROLL(1) for (int h = 0; h < 16; h += VW) {
        if (channels < 32) v_tail(kind, n, digits, h, book, pass);
        else if (part) v_run(kind, n, digits, 1, h, book, pass, pg);
        else v_run(kind, n, digits, 0, h, book, pass, pg);
    }
}

/* Two vectors of channels at a time. Units of 64 channels are gone over twice. */
VEC_INLINE void v_integer(const tile_kind kind, const int digits, const int n, attend_block *b, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->v;
    const attend_book book = attend_book_of(kind, t16, 0);
    const int chunk = v_rows_at_once(n, digits), unit = kind == TILE_BOOK2 || kind == TILE_BOOK3 ? 64 : 32;
    for (int c = 0; c < t16->dim; c += 32) {
        const int g = c / t16->group;
        v_pass pass = {.row = pg->v + t16->codes + (ptrdiff_t)(c / unit * unit) * 8 * t16->bits, .channel = c, .asks = true};
        for (int r = 0; r < n; r += chunk, pass.asks = false) {
            pass.p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            pass.o = b->o + r;
            pass.factor = pg->factor[g] + lane_of(r);
            v_lanes(kind, chunk, digits, &book, &pass, t16->dim - c, unit == 64 && c % 64, pg);
        }
    }
}
#endif
