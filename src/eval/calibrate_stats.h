/* What calibrating keeps of a model's run: moments and samples of queries, keys and values, per layer and KV head. */
#ifndef INGOT_EVAL_CALIBRATE_STATS_H
#define INGOT_EVAL_CALIBRATE_STATS_H
#include "../engine/capture.h"
#include "moments.h"

/* The first tokens of a window have keys and values of their own kind (sinks), which methods keep exact: they are left out of everything but the queries.
 * Queries are sampled for the audit of signs. */
enum { CALIBRATE_SINKS = 4, CALIBRATE_QUERIES = 256 };

typedef struct calibrate_head {
    const ingot_layer_shape *shape;
    int layer, head;
    ingot_moments k, v;
    ingot_moments *q;             /* [heads of the group] */
    uint16_t *k_sample, *v_sample; /* [n_sample][dim] f16, evenly spread over the text */
    float *q_sample;              /* [heads of the group][n_queries][k_dim] */
} calibrate_head;

typedef struct calibrate_stats {
    const ingot_layer_shape *layers;
    int n_layers, n_heads, n_batch;
    calibrate_head *heads; /* [n_heads] by layer, then KV head */
    int64_t n_total, n_query_total; /* keys and queries that will come */
    int64_t n_seen, n_query_seen;
    int n_sample, n_queries;  /* of these, sampled */
    /* The running pass, copied from the engine. */
    float **pass; /* [n_layers] queries, then keys, then values of n_batch tokens */
    int n_pass, first; /* tokens, position of the first */
} calibrate_stats;

/* For n_tokens in all, read as so many contexts, in passes of at most n_batch. */
ingot_status ingot_calibrate_stats_init(calibrate_stats *s, const ingot_model_info *model, int64_t n_tokens, int64_t n_contexts, int n_batch, bool samples);
void ingot_calibrate_stats_free(calibrate_stats *s);
/* An ingot_capture_fn; user: the stats. */
void ingot_calibrate_stats_capture(void *user, const ingot_captured *c);
/* Takes the pass that was captured into the moments, on the engine's threads. */
void ingot_calibrate_stats_add(calibrate_stats *s, ingot_engine *engine);
#endif
