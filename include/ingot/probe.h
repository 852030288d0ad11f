/* Looking into attention: what a cache plan does to the scores and outputs of every head on the model's own queries, keys and values, and how well the
 * scores of eviction policies foretell attention. docs/evaluating.md says how to read the figures. Part of libingot-engine. C11, C++-clean. */
#ifndef INGOT_PROBE_H
#define INGOT_PROBE_H
#include <ingot/session.h>
#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_PROBE_POLICIES 8

typedef struct ingot_probe_config {
    int n_ctx; /* tokens of the window; all queries, keys and values of it are held in memory, 4 bytes each */
    ingot_device *device; /* borrowed: where the plan's cache lives */
    ingot_plan plan; /* its policy plays no part */
    const ingot_calibration *calibration; /* borrowed; NULL when the plan needs none; policies that need one are looked at where it is given */
    ingot_progress progress; /* NULL allowed */
    void *progress_user;
} ingot_probe_config;

/* One KV head, over up to 256 queries (evenly spread over the window's second half) of each of its query heads. NaN where nothing is packed. */
typedef struct ingot_probe_head {
    int layer, head;
    bool sliding;          /* the layer has a sliding window: nothing is evicted from it, and its newest keys only are looked at */
    double score_error;    /* scores <q, k> of packed keys: root mean square of the error over the standard deviation of a query's scores */
    double output_error;   /* attention outputs: norm of the error over the norm, both over all queries */
    double output_cosine;  /* mean cosine of outputs with the exact ones */
    double rank[INGOT_PROBE_POLICIES]; /* Spearman's correlation of a policy's scores of the first half's keys with the attention that they get in the second, NaN when
                                        * not measured */
} ingot_probe_head;

/* Over the layers without sliding window. */
typedef struct ingot_probe_policy {
    const char *name; /* static */
    int n_heads;
    double mean_rank, least_rank, positive; /* mean and least correlation, share of heads where it is above 0 */
} ingot_probe_policy;

typedef struct ingot_probe_result {
    int n_ctx, n_heads, n_policies;
    ingot_probe_head *heads; /* [n_heads]; free with ingot_free_memory */
    double score_error, output_error, output_cosine; /* means over the heads that have figures */
    ingot_probe_policy policies[INGOT_PROBE_POLICIES]; /* [n_policies] those that score keys as they come */
} ingot_probe_result;

/* The first n_ctx of tokens[n] (BOS in front where the model asks for it, in place of the first). Float activations; the queries, keys and values are those of the
 * model with the f16 cache, so that errors of one layer are not seen in the next. Errors: INGOT_E_INVALID (a text too short, with both counts; what the plan
 * needs), INGOT_E_NOMEM, INGOT_E_CANCELLED. */
ingot_status ingot_eval_probe(ingot_probe_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_probe_config *config);

#ifdef __cplusplus
}
#endif
#endif
