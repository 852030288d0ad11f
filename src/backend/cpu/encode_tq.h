/* TurboQuant's codes: the levels of a book in units of the vector's RMS, one scale a token. As ingot_tq_quantise in src/codec/tq_common.c. */
#ifndef INGOT_CPU_ENCODE_TQ_H
#define INGOT_CPU_ENCODE_TQ_H
#include "../../codec/tq_common.h"
#include "encode_book.h"
#include "encode_vec.h"

enum { TQ_PARTS = INGOT_TQ_LANES / VW, TQ_ROWS = ROW_ENCODE_TOKENS };

/* Numbers of the tokens of a call. */
typedef struct tq_rows { float top[TQ_ROWS], power[TQ_ROWS], xx[TQ_ROWS], inverse[TQ_ROWS], cx[TQ_ROWS], cc[TQ_ROWS]; } tq_rows;

/* The first steps of adding up 16 partial sums: what is left of them is one register. */
VEC_INLINE vf fold_parts(vf part[TQ_PARTS]) {
    for (int n = TQ_PARTS / 2; n >= 1; n /= 2)
        for (int i = 0; i < n; i++) part[i] = vf_add(part[i], part[i + n]);
    return part[0];
}

VEC_INLINE void tq_tops(const encode_rows *r, tq_rows *rows) {
    for (int t = 0; t < r->n; t += 4) {
        vf top[4];
        for (int j = 0; j < 4; j++) {
            const float *x = r->x + (t + j < r->n ? t + j : r->n - 1) * r->stride;
            top[j] = vf_zero();
            for (int k = 0; k < r->dim; k += VW) top[j] = vf_max(top[j], magnitude(vf_load(x + k)));
        }
        fold_eight(top, top, false, rows->top + t, rows->top + t);
    }
    for (int t = 0; t < TQ_ROWS; t++) rows->power[t] = ingot_tq_power(t < r->n ? rows->top[t] : 0.f);
}

VEC_INLINE void tq_norms(const encode_rows *r, tq_rows *rows) {
    for (int t = 0; t < r->n; t += 4) {
        vf square[4];
        for (int j = 0; j < 4; j++) {
            const int token = t + j < r->n ? t + j : r->n - 1;
            const float *x = r->x + token * r->stride;
            const vf power = vf_set(rows->power[token]);
            vf part[TQ_PARTS];
            for (int i = 0; i < TQ_PARTS; i++) part[i] = vf_zero();
            for (int k = 0; k < r->dim; k += INGOT_TQ_LANES)
                VEC_UNROLL(4) for (int i = 0; i < TQ_PARTS; i++) {
                    const vf y = vf_mul(vf_load(x + k + i * VW), power);
                    part[i] = vf_add(part[i], vf_mul(y, y));
                }
            square[j] = fold_parts(part);
        }
        fold_eight(square, square, true, rows->xx + t, rows->xx + t);
    }
    for (int t = 0; t < r->n; t += VW) {
        const vf xx = vf_load(rows->xx + t);
        vf_store(rows->inverse + t, where_positive(xx, vf_sqrt(vf_div(vf_set((float)r->dim), xx))));
    }
}

/* Codes of a token; *cx, *cc: one register of partial sums. */
VEC_INLINE void tq_codes(const book_search *book, int bits, const float *x, int dim, float power, float inverse, uint8_t *codes, vf *cx, vf *cc) {
    const vf p = vf_set(power), inv = vf_set(inverse);
    vf part_x[TQ_PARTS], part_c[TQ_PARTS];
    for (int i = 0; i < TQ_PARTS; i++) part_x[i] = part_c[i] = vf_zero();
    for (int k = 0; k < dim; k += INGOT_TQ_LANES)
        VEC_UNROLL(4) for (int i = 0; i < TQ_PARTS; i++) {
            const vf y = vf_mul(vf_load(x + k + i * VW), p);
            const vi code = book_code(book, bits, vf_mul(y, inv));
            const vf level = book_level(book, bits, code);
            store_codes(codes + k + i * VW, code);
            part_x[i] = vf_add(part_x[i], vf_mul(y, level));
            part_c[i] = vf_add(part_c[i], vf_mul(level, level));
        }
    *cx = fold_parts(part_x), *cc = fold_parts(part_c);
}

VEC_INLINE void encode_tq(const encode_rows *r, const ingot_tq_book *from, int bits, ingot_tq_rule rule, uint8_t *codes, uint16_t *scales) {
    book_search book;
    tq_rows rows = {0};
    book_init(&book, bits, from->level);
    tq_tops(r, &rows);
    tq_norms(r, &rows);
    for (int t = 0; t < r->n; t += 4) {
        vf cx[4], cc[4];
        for (int j = 0; j < 4; j++) {
            const int i = t + j < r->n ? t + j : r->n - 1;
            if (i == t + j) tq_codes(&book, bits, r->x + i * r->stride, r->dim, rows.power[i], rows.inverse[i], codes + i * r->dim, &cx[j], &cc[j]);
            else cx[j] = cx[0], cc[j] = cc[0];
        }
        fold_eight(cx, cc, true, rows.cx + t, rows.cc + t);
    }
    for (int t = 0; t < r->n; t++) {
        const double s = ingot_tq_scale(rule, r->dim, rows.xx[t], rows.cx[t], rows.cc[t], rows.power[t]);
        scales[t] = float_to_half((float)(s < (double)HALF_MAX ? s : (double)HALF_MAX));
    }
}
#endif
