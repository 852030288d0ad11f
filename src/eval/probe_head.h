/* What a probe computes of one KV head from arrays: exact attention, its errors, and whom it attends to. */
#ifndef INGOT_EVAL_PROBE_HEAD_H
#define INGOT_EVAL_PROBE_HEAD_H
#include <ingot/status.h>
#include <ingot/types.h>

/* Queries of a head that are looked at, sinks that no policy judges, and queries that must see a key for it to be judged. */
enum { PROBE_QUERIES = 256, PROBE_SINKS = 4, PROBE_WITNESSES = 16 };

/* Vectors lie `stride` floats apart, row t is position t. */
typedef struct probe_rows { const float *x; ptrdiff_t stride; } probe_rows;

typedef struct probe_input {
    int n, k_dim, v_dim, n_group; /* tokens, sizes, query heads */
    int sliding_window;
    float scale;
    probe_rows q, k, v, out;  /* q and out: the heads of the group side by side; out: the cache's outputs */
    const float *k_stored;    /* [n][k_dim] keys as the cache gives them back */
    const bool *packed;       /* [n] which of them count */
} probe_input;

typedef struct probe_sums {
    double error, spread;         /* scores: squared errors; squared distances from the mean of a query's scores */
    double out_error, out_square; /* outputs */
    double cosine;
    int n_outputs;
} probe_sums;

/* Position of looked-at query i of n_queries in a window of n tokens: in its second half. */
int ingot_probe_query(int i, int n_queries, int n);
int ingot_probe_queries(int n);

/* Adds all heads of the group to zeroed sums. attention [n], zeroed, becomes the mean weight of each key of the first half over the looked-at queries that see it, all
 * heads together; witnesses [n], zeroed: how many queries those are. INGOT_E_NOMEM. */
ingot_status ingot_probe_head_run(probe_sums *sums, float *attention, int *witnesses, const probe_input *in);

/* Spearman's correlation of scores [n] and attention [n] over the keys of the first half that are no sinks and have enough witnesses; NaN when they are fewer than 32 or
 * memory is short. */
double ingot_probe_rank(const float *scores, const float *attention, const int *witnesses, int n);
#endif
