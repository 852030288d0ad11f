/* What the vector encoders share: the limits of halves, and the ranges of groups. */
#ifndef INGOT_CPU_ENCODE_VEC_H
#define INGOT_CPU_ENCODE_VEC_H
#include "encode_isa.h"
#include "row_encode.h"

#define HALF_MAX 65504.f

VEC_INLINE vf clip(vf x) { return vf_min(vf_max(x, vf_set(-HALF_MAX)), vf_set(HALF_MAX)); }
/* As fminf(fmaxf(x, lo), hi), also when x is a NaN: the maximum takes its second operand then. */
VEC_INLINE vf clamp(vf x, float lo, float hi) { return vf_min(vf_max(x, vf_set(lo)), vf_set(hi)); }
VEC_INLINE vf negative(vf x) { return vf_sub(vf_set(-0.f), x); }

/* The nearest half of each, also as floats. */
VEC_INLINE vf round_half(uint16_t *p, vf x) {
    store_halves(p, x);
    return vf_halves(p);
}

/* Rows under way, and their groups one after the other: group i of all is group i % n_groups of token i / n_groups. */
typedef struct encode_rows { const float *x; ptrdiff_t stride; int n, dim, group, n_groups, all; } encode_rows;

VEC_INLINE encode_rows rows_of(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int n, int group) {
    const int n_groups = (f->dim + group - 1) / group;
    return (encode_rows){x, stride, n, f->dim, group, n_groups, n * n_groups};
}

/* A group of channels of one token. */
typedef struct group_at { const float *x; int n, at; } group_at;

VEC_INLINE group_at group_of(const encode_rows *r, int token, int g) {
    const int c = g * r->group;
    return (group_at){r->x + token * r->stride + c, r->dim - c < r->group ? r->dim - c : r->group, token * r->dim + c};
}

/* Numbers of all groups. */
typedef struct group_floats { float x[ROW_ENCODE_GROUPS + 16]; } group_floats;

/* Each group's largest element, and the negative of its smallest. Which of 0 and -0 counts as larger is left open. */
VEC_INLINE void find_ranges(const encode_rows *r, group_floats *high, group_floats *low) {
    for (int k = 0; k < 16; k += VW) vf_store(high->x + r->all + k, vf_zero()), vf_store(low->x + r->all + k, vf_zero()); /* loops over groups take whole registers */
    for (int i = 0, token = 0, g = 0; i < r->all; i += 4) {
        vf hi[4], lo[4];
        for (int j = 0; j < 4; j++) {
            const group_at a = group_of(r, token, g);
            hi[j] = lo[j] = vf_load(a.x);
            for (int k = VW; k < a.n; k += VW) {
                const vf x = vf_load(a.x + k);
                hi[j] = vf_max(hi[j], x), lo[j] = vf_min(lo[j], x);
            }
            lo[j] = negative(lo[j]);
            if (i + j + 1 < r->all && ++g == r->n_groups) g = 0, token++; /* the last one is repeated */
        }
        fold_eight(hi, lo, false, high->x + i, low->x + i);
    }
}

/* Whether some element is beyond what a half can hold. */
VEC_INLINE bool any_beyond_halves(const encode_rows *r, const group_floats *high, const group_floats *low) {
    vf top = vf_zero();
    for (int i = 0; i < r->all; i += VW) top = vf_max(top, vf_max(vf_load(high->x + i), vf_load(low->x + i)));
    return vf_any_above(top, vf_set(HALF_MAX));
}

/* The formats whose offset is the smallest element have of several equal ones the first: 0 and -0 differ in their halves. `low` becomes that element, clipped. */
VEC_INLINE void settle_lows(const encode_rows *r, group_floats *low) {
    bool zero = false;
    for (int i = 0; i < r->all; i += VW) {
        const vf x = clip(negative(vf_load(low->x + i)));
        zero |= any_equal(x, vf_zero());
        vf_store(low->x + i, x);
    }
    for (int i = 0; zero && i < r->all; i++) {
        const group_at a = group_of(r, i / r->n_groups, i % r->n_groups);
        for (int k = 0; low->x[i] == 0.f && k < a.n; k++)
            if (a.x[k] == 0.f) { low->x[i] = a.x[k]; break; }
    }
}
#endif
