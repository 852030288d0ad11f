/* An engine from inside: a model, a cache, scratch for one forward pass, and the batch that is being run. */
#ifndef INGOT_ENGINE_INTERNAL_H
#define INGOT_ENGINE_INTERNAL_H
#include "../model/model.h"
#include "capture.h"
#include <ingot/session.h>

struct ingot_engine {
    ingot_model *model;
    ingot_device *device;
    ingot_cache *cache;
    ingot_engine_config config; /* defaults filled in */
    ingot_capture_fn capture;   /* NULL: nobody looks */
    void *capture_user;

    /* Scratch, allocated once. LOGITS has max_logits rows, all others n_batch. */
    float *buf[INGOT_N_BUFS];
    ptrdiff_t stride[INGOT_N_BUFS]; /* floats between rows */
    float **rope_cos, **rope_sin;   /* [n_ropes] of [n_batch][n_rot/2] */
    void *linear_scratch;
    bool *barrier_before;           /* [n_ops]: see schedule.h */

    /* The batch of the last pass. */
    int n_tokens, n_wanted;
    int32_t *tokens; /* [n_batch] */
    int *seqs, *positions;
    int *wanted;     /* [n_wanted] rows of the batch */
    ingot_batch_token *feed; /* [n_batch] batches of ingot_session_prefill */
};

struct ingot_session {
    ingot_engine *engine;
    int seq;
};
#endif
