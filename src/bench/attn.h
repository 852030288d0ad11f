/* The attention benchmark: what its plans share. */
#ifndef INGOT_BENCH_ATTN_H
#define INGOT_BENCH_ATTN_H
#include "bench.h"

typedef struct attn_job {
    const ingot_bench_attn_config *c;
    ingot_device *device;
    int n_rows;            /* of k and v: token i of a context is row i % n_rows */
    float *k, *v;          /* [n_rows][n_kv_heads][head_dim] */
    float *q;              /* [n_queries][n_heads][head_dim] */
    float *new_k, *new_v;  /* the step's tokens */
    int *seqs;             /* [n_queries] */
    float *exact;          /* [n_heads][head_dim] what the last query token should get */
    size_t cold;           /* bytes to rotate over */
    bench_stream stream;
} attn_job;

/* attn_exact.c: fills j->exact. INGOT_E_NOMEM. */
ingot_status ingot_bench_attn_exact(attn_job *j);
/* Compares outputs [n_queries][n_heads][head_dim] with it. */
void ingot_bench_attn_judge(const attn_job *j, const float *out, double *checksum, double *error);

/* attn_kernel.c: the back end's attention alone, on one copy of the data in a running step. One query token, one thread. */
typedef struct attn_kernel {
    const attn_job *job;
    ingot_cache *cache;
    int layer;
} attn_kernel;
void ingot_bench_attn_kernel(const ingot_team *team, void *kernel);
#endif
