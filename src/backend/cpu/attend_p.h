/* Second phase of the packed attention: online softmax of a block of rows over 64 scores; for integer V the weights as
 * integers. For files compiled for one instruction set, which provide before:
 *   row_tops(n, m, top)                   largest lane of each of n vectors, as a vector over rows
 *   largest_scale(scales, lo, hi)         largest magnitude of the tokens [lo, hi) of a group
 *   weight_max(digits), weight_max_log2(digits)
 *   pack_weights(digits, x, w, p)         x * w as integers up to weight_max, in the V phase's order: p [2][16]
 *   LINEAR4_UNIT                          what a code of TILE_LINEAR4 counts in the V phase */
#ifndef INGOT_CPU_ATTEND_P_H
#define INGOT_CPU_ATTEND_P_H
#include "attend_phase.h"

enum { XV = 64 / VW, RV = 16 / VW };

/* Per row the 64 scores, and vectors over rows: the page's maximum and the new running one. */
typedef struct p_rows {
    vf x[BLOCK_ROWS][XV];
    vf top[RV], running[RV];
} p_rows;

/* Multiplies what the rows have summed by 2^(old - new maximum). Rare after the first pages. */
static void rescale(attend_block *b, const attend_call *k, const vf *running, int n_mids) {
    float c[16];
    for (int i = 0; i < RV; i++) {
        vf_store(c + i * VW, vf_exp2(vf_sub(vf_load(b->m + i * VW), running[i])));
        vf_store(b->m + i * VW, running[i]);
    }
    for (int r = 0; r < b->n; r++) {
        const vf f = vf_set(c[lane_of(r)]);
        float *mid = b->mid + (ptrdiff_t)r * n_mids * 16;
        vf_store(b->l[r], vf_mul(vf_load(b->l[r]), f));
        for (int i = 0; i < k->a->v.dim; i += VW) vf_store(b->o[r] + i, vf_mul(vf_load(b->o[r] + i), f));
        for (int i = 0; i < n_mids; i++) vf_store(mid + i * 16, vf_mul(vf_load(mid + i * 16), f));
    }
}

/* Loads and masks the scores, brings the running maximum up to date. */
VEC_INLINE void p_start(const int n, p_rows *s, attend_block *b, const attend_call *c, const attend_page *pg, int n_mids) {
    vf m[BLOCK_ROWS];
    bool rises = false;
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        VEC_UNROLL(8) for (int i = 0; i < XV; i++) s->x[r][i] = vf_load(pg->x + r * 64 + i * VW);
    }
    if (!pg->full) {
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            VEC_UNROLL(8) for (int i = 0; i < XV; i++) s->x[r][i] = vf_window(s->x[r][i], vf_set(VEC_MASKED), i * VW, pg->lo[r], pg->hi[r]);
        }
    }
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        m[r] = s->x[r][0];
        VEC_UNROLL(8) for (int i = 1; i < XV; i++) m[r] = vf_max(m[r], s->x[r][i]);
    }
    row_tops(n, m, s->top);
    VEC_UNROLL(2) for (int i = 0; i < RV; i++) {
        const vf old = vf_load(b->m + i * VW);
        s->top[i] = vf_max(s->top[i], vf_set(VEC_FLOOR));
        s->running[i] = vf_max(s->top[i], old);
        rises |= vf_any_above(s->running[i], old);
    }
    if (__builtin_expect(rises, 0)) rescale(b, c, s->running, n_mids);
}

/* Weights in float, for f16 V. */
VEC_INLINE void p_float(const int n, attend_block *b, const attend_call *c, attend_page *pg) {
    p_rows s;
    float shift[16];
    p_start(n, &s, b, c, pg, 0);
    VEC_UNROLL(2) for (int i = 0; i < RV; i++) vf_store(shift + i * VW, s.running[i]);
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        vf sum = vf_load(b->l[r]);
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, 32 / n);
        VEC_UNROLL(8) for (int i = 0; i < XV; i++) {
            const vf p = vf_exp2(vf_sub(s.x[r][i], vf_set(shift[lane_of(r)])));
            sum = vf_add(sum, p);
            vf_store(pg->x + r * 64 + i * VW, p);
        }
        vf_store(b->l[r], sum);
    }
}

/* The weights x of a row times the mids w of a group, added to the row's sum. */
VEC_INLINE void p_add_mids(const vf *x, const vf *w, float worth, float *sum) {
    vf e = vf_mul(x[0], w[0]), f = vf_mul(x[1], w[1]);
    VEC_UNROLL(4) for (int i = 2; i < XV; i += 2) {
        e = vf_fma(x[i], w[i], e);
        f = vf_fma(x[i + 1], w[i + 1], f);
    }
    vf_store(sum, vf_fma(vf_add(e, f), vf_set(worth), vf_load(sum)));
}

/* 64 halves of the V tile; 0 for the tokens outside of the window, whatever lies there. */
VEC_INLINE void p_load_plane(vf *w, const uint16_t *plane, const attend_page *pg) {
    VEC_UNROLL(8) for (int i = 0; i < XV; i++) w[i] = vf_halves(plane + i * VW);
    if (pg->window.lo > 0 || pg->window.hi < 64) {
        VEC_UNROLL(8) for (int i = 0; i < XV; i++) w[i] = vf_window(w[i], vf_zero(), i * VW, pg->window.lo, pg->window.hi);
    }
}

/* What is added for each unit of weight beside the number times the scale, in the place of the scales w. */
VEC_INLINE void p_mids(const tile16 *t, int g, const attend_page *pg, const vf *scales, vf *mids) {
    if (t->signed_scale) {
        VEC_UNROLL(8) for (int i = 0; i < XV; i++) mids[i] = vf_max(vf_sub(vf_zero(), scales[i]), vf_zero());
        return;
    }
    p_load_plane(mids, (const uint16_t *)(const void *)(pg->v + t->offsets) + tile16_v_scale(g, 0), pg);
    if (t->shift != 0) VEC_UNROLL(8) for (int i = 0; i < XV; i++) mids[i] = vf_fma(scales[i], vf_set(t->shift), mids[i]);
}

/* Of each group, the largest scale and its inverse. Long chains of operations, which overlap here, and with what follows. */
VEC_INLINE void p_largest_scales(const tile16 *t, const attend_page *pg, float *tops, float *inverses) {
    for (int g = 0; g < t->n_groups; g++) {
        const uint16_t *scales = (const uint16_t *)(const void *)pg->v + tile16_v_scale(g, 0);
        const float top = largest_scale(scales, pg->window.lo, pg->window.hi);
        tops[g] = top > 1e-30f ? top : 1e-30f;
        inverses[g] = 1.f / tops[g];
    }
}

/* Weights as integers, in units of the page's own maximum. */
VEC_INLINE void p_integer(const int digits, const int n, attend_block *b, const attend_call *c, attend_page *pg) {
    const tile16 *t16 = &c->v;
    const bool mids = attend_has_mids(t16);
    const float unit = c->v_kind == TILE_LINEAR4 ? t16->unit * LINEAR4_UNIT : t16->unit;
    p_rows s;
    float shift[16], worth[16], tops[MAX_GROUPS], inverses[MAX_GROUPS];
    vf worths[RV];
    p_largest_scales(t16, pg, tops, inverses);
    p_start(n, &s, b, c, pg, mids ? t16->n_groups : 0);
    VEC_UNROLL(2) for (int i = 0; i < RV; i++) {
        vf_store(shift + i * VW, vf_sub(vf_set(weight_max_log2(digits)), s.top[i]));
        worths[i] = vf_mul(vf_exp2(vf_sub(s.top[i], s.running[i])), vf_set(1.f / weight_max(digits)));
        vf_store(worth + i * VW, worths[i]);
    }
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        vf sum = vf_zero();
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, (8 + n - 1) / n);
        VEC_UNROLL(8) for (int i = 0; i < XV; i++) {
            s.x[r][i] = vf_exp2_short(vf_add(s.x[r][i], vf_set(shift[lane_of(r)])));
            sum = vf_add(sum, s.x[r][i]);
        }
        vf_store(b->l[r], vf_fma(sum, vf_set(worth[lane_of(r)]), vf_load(b->l[r])));
    }
    for (int g = 0; g < t16->n_groups; g++) {
        const uint16_t *scales = (const uint16_t *)(const void *)pg->v + tile16_v_scale(g, 0);
        const vf *x = &s.x[0][0];
        vf w[XV], m[XV];
        VEC_UNROLL(2) for (int i = 0; i < RV; i++) vf_store(pg->factor[g] + i * VW, vf_mul(worths[i], vf_set(tops[g] * unit)));
        p_load_plane(w, scales, pg);
        if (mids) {
            p_mids(t16, g, pg, w, m);
            VEC_UNROLL(8) for (int r = 0; r < n; r++) p_add_mids(s.x[r], m, worth[lane_of(r)], b->mid + (r * t16->n_groups + g) * 16);
            if (t16->signed_scale) VEC_UNROLL(8) for (int i = 0; i < XV; i++) w[i] = vf_max(w[i], vf_sub(vf_zero(), w[i]));
        }
        VEC_UNROLL(8) for (int i = 0; i < XV; i++) w[i] = vf_mul(w[i], vf_set(inverses[g]));
        __asm__ volatile("" : "+r"(x) : : "memory"); /* keeps the weights in memory, where they fit, not half in registers */
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, ((mids ? 8 : 12) + n - 1) / n);
            pack_weights(digits, x + r * XV, w, pg->p + (ptrdiff_t)(g * n + r) * 32);
        }
    }
}

#define P_ONE(n, b, c, pg) p_integer(1, n, b, c, pg)
#define P_TWO(n, b, c, pg) p_integer(2, n, b, c, pg)
ATTEND_INSTANCES(p_float, p_float)
ATTEND_INSTANCES(p_two, P_TWO)

#define ATTEND_P_TABLE(name)                                                                                                            \
    {                                                                                                                                   \
        [ATTEND_F16] = ATTEND_ROW(p_float), [TILE_LINEAR8] = ATTEND_ROW(name), [TILE_LINEAR4] = ATTEND_ROW(name),                       \
        [TILE_BOOK4] = ATTEND_ROW(name), [TILE_BOOK3] = ATTEND_ROW(name), [TILE_BOOK2] = ATTEND_ROW(name),                              \
    }
#endif
