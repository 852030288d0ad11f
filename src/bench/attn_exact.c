/* What attention should give, so that a fast wrong kernel shows. A context repeats a few thousand tokens, and equal keys have equal weights: each counts as often as
 * it occurs, and the cost does not grow with the context. */
#include "attn.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <math.h>

/* How often row i occurs among the tokens that the last query sees. */
static double times_seen(const attn_job *j, int i) {
    const int n = j->c->n_tokens + INGOT_BENCH_RAGGED;
    return n / j->n_rows + (i < n % j->n_rows);
}

static void exact_head(const attn_job *j, const float *q, int kv_head, double *w, double *sum, float *out) {
    const size_t dim = (size_t)j->c->head_dim, stride = (size_t)j->c->n_kv_heads * dim, at = (size_t)kv_head * dim;
    const double scale = (double)(1.0f / sqrtf((float)dim));
    double top = -INFINITY, all = 0;
    for (int i = 0; i < j->n_rows; i++) {
        double s = 0;
        for (size_t e = 0; e < dim; e++) s += (double)q[e] * (double)j->k[(size_t)i * stride + at + e];
        w[i] = s * scale;
        if (w[i] > top && times_seen(j, i) > 0) top = w[i];
    }
    for (size_t e = 0; e < dim; e++) sum[e] = 0;
    for (int i = 0; i < j->n_rows; i++) {
        const double n = times_seen(j, i), p = n > 0 ? n * exp(w[i] - top) : 0;
        all += p;
        for (size_t e = 0; e < dim; e++) sum[e] += p * (double)j->v[(size_t)i * stride + at + e];
    }
    for (size_t e = 0; e < dim; e++) out[e] = (float)(sum[e] / all);
}

ingot_status ingot_bench_attn_exact(attn_job *j) {
    const size_t dim = (size_t)j->c->head_dim;
    const int group = j->c->n_heads / j->c->n_kv_heads;
    const float *q = j->q + (size_t)(j->c->n_queries - 1) * (size_t)j->c->n_heads * dim;
    j->exact = ingot_alloc_array((size_t)j->c->n_heads, dim * sizeof(float), INGOT_MEM_SCRATCH);
    double *scratch = ingot_alloc_array((size_t)j->n_rows + dim, sizeof(double), INGOT_MEM_SCRATCH);
    if (!j->exact || !scratch) {
        ingot_dealloc(scratch);
        return ingot_fail(INGOT_E_NOMEM, "no memory for exact attention");
    }
    for (int h = 0; h < j->c->n_heads; h++) exact_head(j, q + (size_t)h * dim, h / group, scratch, scratch + j->n_rows, j->exact + (size_t)h * dim);
    ingot_dealloc(scratch);
    return INGOT_OK;
}

void ingot_bench_attn_judge(const attn_job *j, const float *out, double *checksum, double *error) {
    const size_t n = (size_t)j->c->n_heads * (size_t)j->c->head_dim;
    const float *last = out + (size_t)(j->c->n_queries - 1) * n;
    double sum = 0, off = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)last[i] - (double)j->exact[i];
        sum += (double)last[i];
        off += d * d;
        norm += (double)j->exact[i] * (double)j->exact[i];
    }
    *checksum = sum;
    *error = sqrt(off / norm);
}
