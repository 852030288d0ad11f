/* Online softmax of one row of 64 scores, in float. For files compiled for one instruction set. */
#ifndef INGOT_CPU_SOFTMAX_H
#define INGOT_CPU_SOFTMAX_H
#include "vec.h"

/* x[64] scores -> exp(x - m') with 0 outside [lo, hi); m and l become those that include them.
 * Returns the factor for what was summed under the old m. An empty window leaves the state. */
VEC_INLINE float softmax_row(float *x, int lo, int hi, float *m, float *l) {
    vf top = vf_set(VEC_MASKED), sum = vf_zero(), s[64 / VW];
    if (lo >= hi) {
        for (int i = 0; i < 64; i += VW) vf_store(x + i, vf_zero());
        return 1.f;
    }
    VEC_UNROLL(8) for (int i = 0; i < 64 / VW; i++) s[i] = vf_load(x + i * VW);
    if (lo > 0 || hi < 64) {
        VEC_UNROLL(8) for (int i = 0; i < 64 / VW; i++) s[i] = vf_window(s[i], vf_set(VEC_MASKED), i * VW, lo, hi);
    }
    VEC_UNROLL(8) for (int i = 0; i < 64 / VW; i++) top = vf_max(top, s[i]);
    float mm = vf_top(top), corr = 1.f;
    if (mm < VEC_FLOOR) mm = VEC_FLOOR;
    if (mm > *m) {
        float c[VW];
        vf_store(c, vf_exp2(vf_set(*m < VEC_FLOOR ? -200.f : (*m - mm) * VEC_LOG2E)));
        corr = c[0];
        *m = mm;
    }
    const vf base = vf_set(*m), log2e = vf_set(VEC_LOG2E);
    VEC_UNROLL(8) for (int i = 0; i < 64 / VW; i++) {
        const vf p = vf_exp2(vf_mul(vf_sub(s[i], base), log2e));
        sum = vf_add(sum, p);
        vf_store(x + i * VW, p);
    }
    *l = *l * corr + vf_sum(sum);
    return corr;
}
#endif
