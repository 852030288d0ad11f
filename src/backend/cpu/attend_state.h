/* Joining and finishing the states of attention. For files compiled for one instruction set. */
#ifndef INGOT_CPU_ATTEND_STATE_H
#define INGOT_CPU_ATTEND_STATE_H
#include "vec.h"
#include <math.h>

/* As ingot_backend.merge; dim is a multiple of 16. An empty state (l = 0) is the identity. */
static void state_merge(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim) {
    if (lb == 0.f) return;
    const bool empty = *l == 0.f;
    const float top = empty || mb > *m ? mb : *m;
    const float ca = empty ? 0.f : expf(*m - top), cb = expf(mb - top);
    const vf va = vf_set(ca), vb = vf_set(cb);
    for (int i = 0; i < dim; i += VW) {
        const vf a = empty ? vf_zero() : vf_mul(vf_load(o + i), va);
        vf_store(o + i, vf_fma(vf_load(ob + i), vb, a));
    }
    *l = ca * *l + cb * lb;
    *m = top;
}

/* As ingot_backend.normalize. */
static void state_normalize(const float *o, float l, float *out, int dim) {
    const vf inverse = vf_set(1.f / l);
    for (int i = 0; i < dim; i += VW) vf_store(out + i, l == 0.f ? vf_zero() : vf_mul(vf_load(o + i), inverse));
}
#endif
