/* Attention of many rows in float: each tile is unpacked once into scratch of the calling thread, then blocks of rows
 * run over it as a small matrix product, the online softmax between. Included by one file for each instruction set. */
#ifndef INGOT_CPU_ATTEND_ROWS_H
#define INGOT_CPU_ATTEND_ROWS_H
#include "cpu_kv.h"
#include "softmax.h"
#include "tile_unpack.h"

/* Rows of a block and vectors beside each other: ROWS x NV accumulators fill the register file. */
enum { ROWS = 6 /* of CPU_BLOCK_ROWS */, NV = VW == 16 ? 4 : 2 };

/* x[r][64] = scale * q[r] . k[][64]. */
VEC_INLINE void scores_block(const int n, const float *const *q, const float *k, int dim, float scale, float *x) {
    for (int at = 0; at < 64; at += NV * VW) {
        vf acc[ROWS][NV];
        VEC_UNROLL(6) for (int r = 0; r < n; r++) VEC_UNROLL(4) for (int j = 0; j < NV; j++) acc[r][j] = vf_zero();
        for (int c = 0; c < dim; c++) {
            vf kv[NV];
            VEC_UNROLL(4) for (int j = 0; j < NV; j++) kv[j] = vf_load(k + c * 64 + at + j * VW);
            VEC_UNROLL(6) for (int r = 0; r < n; r++) {
                const vf b = vf_set(q[r][c]);
                VEC_UNROLL(4) for (int j = 0; j < NV; j++) acc[r][j] = vf_fma(kv[j], b, acc[r][j]);
            }
        }
        VEC_UNROLL(6) for (int r = 0; r < n; r++) {
            VEC_UNROLL(4) for (int j = 0; j < NV; j++) vf_store(x + r * 64 + at + j * VW, vf_mul(acc[r][j], vf_set(scale)));
        }
    }
}

/* o[r] = o[r] * corr[r] + p[r][lo..hi) . v, for nv vectors of channels at `v` (rows of 64 floats). */
VEC_INLINE void values_block(const int n, const int nv, float *const *o, int c, const float *p, const float *corr, const float *v, int lo, int hi) {
    vf acc[ROWS][NV];
    VEC_UNROLL(6) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int j = 0; j < nv; j++) acc[r][j] = vf_mul(vf_load(o[r] + c + j * VW), vf_set(corr[r]));
    }
    for (int t = lo; t < hi; t++) {
        vf x[NV];
        VEC_UNROLL(4) for (int j = 0; j < nv; j++) x[j] = vf_load(v + t * 64 + j * VW);
        VEC_UNROLL(6) for (int r = 0; r < n; r++) {
            const vf b = vf_set(p[r * 64 + t]);
            VEC_UNROLL(4) for (int j = 0; j < nv; j++) acc[r][j] = vf_fma(x[j], b, acc[r][j]);
        }
    }
    VEC_UNROLL(6) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int j = 0; j < nv; j++) vf_store(o[r] + c + j * VW, acc[r][j]);
    }
}

VEC_INLINE void values_rows(const int n, float *const *o, int dim, const float *p, const float *corr, const float *v, int lo, int hi) {
    int c = 0;
    for (; c + NV * VW <= dim; c += NV * VW) values_block(n, NV, o, c, p, corr, v + (c / 64) * 4096 + c % 64, lo, hi);
    for (; c < dim; c += VW) values_block(n, 1, o, c, p, corr, v + (c / 64) * 4096 + c % 64, lo, hi);
}

static void scores_of(int n, const float *const *q, const float *k, int dim, float scale, float *x) {
    switch (n) {
    case 1: scores_block(1, q, k, dim, scale, x); break;
    case 2: scores_block(2, q, k, dim, scale, x); break;
    case 3: scores_block(3, q, k, dim, scale, x); break;
    case 4: scores_block(4, q, k, dim, scale, x); break;
    case 5: scores_block(5, q, k, dim, scale, x); break;
    default: scores_block(6, q, k, dim, scale, x); break;
    }
}

static void values_of(int n, float *const *o, int dim, const float *p, const float *corr, const float *v, int lo, int hi) {
    switch (n) {
    case 1: values_rows(1, o, dim, p, corr, v, lo, hi); break;
    case 2: values_rows(2, o, dim, p, corr, v, lo, hi); break;
    case 3: values_rows(3, o, dim, p, corr, v, lo, hi); break;
    case 4: values_rows(4, o, dim, p, corr, v, lo, hi); break;
    case 5: values_rows(5, o, dim, p, corr, v, lo, hi); break;
    default: values_rows(6, o, dim, p, corr, v, lo, hi); break;
    }
}

/* Rows [r0, r0 + n) on the unpacked page. */
static void rows_block(const ingot_attend_args *a, int page, int r0, int n, const float *k, const float *v, float *x) {
    const float *q[ROWS];
    float *o[ROWS], corr[ROWS];
    int lo[ROWS], hi[ROWS];
    const cpu_window w = cpu_window_of_rows(a, page, r0, n, lo, hi);
    if (w.lo >= w.hi) return;
    for (int r = 0; r < n; r++) {
        q[r] = cpu_query_row(a, r0 + r);
        o[r] = a->o + (ptrdiff_t)(r0 + r) * a->v.dim;
    }
    scores_of(n, q, k, a->k.dim, a->scale, x);
    for (int r = 0; r < n; r++) corr[r] = softmax_row(x + r * 64, lo[r], hi[r], &a->m[r0 + r], &a->l[r0 + r]);
    values_of(n, o, a->v.dim, x, corr, v, w.lo, w.hi);
}

static void attend_rows(const ingot_attend_args *a) {
    float *k = cpu_scratch_align(a->scratch), *v = k + (ptrdiff_t)a->k.dim * 64;
    float *x = v + (ptrdiff_t)((a->v.dim + 63) / 64) * 4096;
    const int n_rows = a->n_tokens * a->n_group;
    for (int page = 0; page < a->n_pages; page++) {
        const cpu_window w = cpu_window_of_tokens(a, page, 0, a->n_tokens);
        if (w.lo >= w.hi) continue;
        unpack_k(&a->k, a->tiles[page], k);
        unpack_v(&a->v, a->tiles[page] + a->v_offset, v);
        for (int r = 0; r < n_rows; r += ROWS) rows_block(a, page, r, n_rows - r < ROWS ? n_rows - r : ROWS, k, v, x);
    }
}
#endif
