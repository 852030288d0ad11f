/* Phases of the packed attention on f16 tiles: halves become floats in registers, all rows of the block use them.
 * For files compiled for one instruction set. */
#ifndef INGOT_CPU_ATTEND_F16_H
#define INGOT_CPU_ATTEND_F16_H
#include "attend_phase.h"

/* Scores in pg->x, for nv vectors of tokens at once. */
VEC_INLINE void k_f16_vectors(const int n, const int nv, const attend_block *b, const attend_call *call, attend_page *pg) {
    const int dim = call->a->k.dim;
    const uint16_t *k = (const uint16_t *)(const void *)pg->k;
    const char *ahead = pg->ahead, *const end = pg->ahead_end;
    for (int t0 = 0; t0 < 64; t0 += nv * VW) {
        const float *q = b->qf;
        ptrdiff_t at[4];
        vf s[BLOCK_ROWS][4];
        VEC_UNROLL(4) for (int i = 0; i < nv; i++) at[i] = (ptrdiff_t)((t0 + i * VW) / 16) * dim * 16 + (t0 + i * VW) % 16;
        VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(4) for (int i = 0; i < nv; i++) s[r][i] = vf_zero();
        for (int c = 0; c < dim; c += 4) {
            VEC_UNROLL(4) for (int j = 0; j < 4; j++) {
                vf x[4];
                if (nv * VW >= 32 || j % 2 == 0) ahead = ask_ahead(ahead, end, nv * VW >= 32 ? nv * VW / 32 : 1);
                VEC_UNROLL(4) for (int i = 0; i < nv; i++) x[i] = vf_halves(k + at[i] + (c + j) * 16);
                VEC_UNROLL(8) for (int r = 0; r < n; r++) {
                    const vf w = vf_set(q[(c + j) * n + r]);
                    VEC_UNROLL(4) for (int i = 0; i < nv; i++) s[r][i] = vf_fma(x[i], w, s[r][i]);
                }
            }
        }
        VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(4) for (int i = 0; i < nv; i++) vf_store(pg->x + r * 64 + t0 + i * VW, s[r][i]);
    }
    pg->ahead = ahead;
}

/* As many vectors as the register file holds accumulators for. */
VEC_INLINE void k_f16(const int n, attend_block *b, const attend_call *call, attend_page *pg) {
    if (VW != 8) k_f16_vectors(n, n > 4 ? 2 : 4, b, call, pg);
    else k_f16_vectors(n, n > 4 ? 1 : n > 2 ? 2 : 4, b, call, pg);
}

/* Outputs from the float weights in pg->x; nv vectors of channels from c on. Only the window is read. */
VEC_INLINE void v_f16_vectors(const int n, const int nv, attend_block *b, const attend_call *call, attend_page *pg, int c) {
    const uint16_t *v = (const uint16_t *)(const void *)pg->v + c;
    const int dim = call->a->v.dim, hi = pg->window.hi;
    const char *ahead = pg->ahead, *const end = pg->ahead_end;
    vf acc[BLOCK_ROWS][8];
    VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(8) for (int k = 0; k < nv; k++) acc[r][k] = vf_load(b->o[r] + c + k * VW);
    for (int t = pg->window.lo; t < hi; t++) {
        vf x[8];
        ahead = ask_ahead(ahead, end, (nv * VW + 31) / 32);
        VEC_UNROLL(8) for (int k = 0; k < nv; k++) x[k] = vf_halves(v + (ptrdiff_t)t * dim + k * VW);
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            const vf p = vf_set(pg->x[r * 64 + t]);
            VEC_UNROLL(8) for (int k = 0; k < nv; k++) acc[r][k] = vf_fma(x[k], p, acc[r][k]);
        }
    }
    VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(8) for (int k = 0; k < nv; k++) vf_store(b->o[r] + c + k * VW, acc[r][k]);
    pg->ahead = ahead;
}

VEC_INLINE void v_f16(const int n, attend_block *b, const attend_call *call, attend_page *pg) {
    const int nv = VW != 8 ? (n > 4 ? 2 : n > 2 ? 4 : 8) : (n > 4 ? 1 : n > 2 ? 2 : 4);
    int c = 0;
    for (; c + nv * VW <= call->a->v.dim; c += nv * VW) v_f16_vectors(n, nv, b, call, pg, c);
    if (nv > 2) for (; c + 2 * VW <= call->a->v.dim; c += 2 * VW) v_f16_vectors(n, 2, b, call, pg, c);
    for (; c < call->a->v.dim; c += VW) v_f16_vectors(n, 1, b, call, pg, c);
}
#endif
