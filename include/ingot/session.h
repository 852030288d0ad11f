/* Running a model: an engine (cache, scratch, threads) and sessions (timelines of tokens) on it; sampling.
 * Part of libingot-engine. An engine and its sessions are used by one thread at a time. C11, C++-clean. */
#ifndef INGOT_SESSION_H
#define INGOT_SESSION_H
#include <ingot/model.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_engine ingot_engine;
typedef struct ingot_session ingot_session;
typedef struct ingot_sampler ingot_sampler;

typedef enum ingot_activations { INGOT_ACT_INT8, INGOT_ACT_FLOAT } ingot_activations;

typedef struct ingot_engine_config {
    ingot_plan plan;
    int n_ctx;        /* tokens all sessions together can hold */
    int max_sessions; /* at least 1 */
    int n_batch;      /* tokens of one forward pass, at most n_ctx are used; 0 = 512 */
    int max_logits;   /* rows of logits that can be held at once, each n_vocab floats; 0 = min(n_batch, 64) */
    ingot_activations activations;
    const ingot_calibration *calibration; /* borrowed, must outlive the engine; NULL when the plan needs none */
} ingot_engine_config;

/* Allocates everything a forward pass needs (cache, scratch, logits); later forward passes allocate nothing.
 * `model` is borrowed. */
ingot_status ingot_engine_create(ingot_engine **out, ingot_model *model, const ingot_engine_config *config);
void ingot_engine_destroy(ingot_engine *engine);
const ingot_cache *ingot_engine_cache(const ingot_engine *engine);

ingot_status ingot_session_create(ingot_session **out, ingot_engine *engine);
void ingot_session_destroy(ingot_session *session);
/* A new session holding the first n_tokens of `from`, pages shared. */
ingot_status ingot_session_fork(ingot_session **out, ingot_session *from, int n_tokens);
int ingot_session_tokens(const ingot_session *session);
/* Rollback to the first n_tokens; see ingot_cache_trim. */
ingot_status ingot_session_trim(ingot_session *session, int n_tokens);

/* One token of a batch. */
typedef struct ingot_batch_token {
    ingot_session *session;
    int32_t token;
    bool want_logits;
} ingot_batch_token;

/* Runs up to n_batch tokens, possibly of several sessions, in one pass (tokens of one session in order).
 * *logits: [number of tokens with want_logits][n_vocab] f32 in batch order, owned by the engine, valid until the next
 * call that computes logits; NULL when none are wanted. At most max_logits tokens may want logits here; for more pass
 * logits = NULL and fetch them with ingot_engine_logits.
 * Errors: INGOT_E_INVALID naming the token or count, INGOT_E_FULL when the cache is full; nothing is changed then. */
ingot_status ingot_engine_forward(ingot_engine *engine, const ingot_batch_token *batch, int n, const float **logits);
/* Logits of the wanted tokens [first, first + n) of the last pass, n at most max_logits: *logits [n][n_vocab]. */
ingot_status ingot_engine_logits(ingot_engine *engine, int first, int n, const float **logits);
/* Tokens of one pass, and rows of logits held at once, as they are after the defaults. */
int ingot_engine_n_batch(const ingot_engine *engine);
int ingot_engine_max_logits(const ingot_engine *engine);
/* Calls fn(user, i) for each i in [0, n), on the engine's threads and returns when all are done. */
void ingot_engine_parallel(ingot_engine *engine, int n, void (*fn)(void *user, int i), void *user);

/* Feeds tokens[n] of one session in batches of n_batch; *logits: those of the last token (NULL allowed).
 * Errors: INGOT_E_INVALID when n is 0, INGOT_E_FULL with both counts when n does not fit the context (nothing is fed then).
 * progress(user, done, total) after each batch; returning false stops with INGOT_E_CANCELLED (tokens so far stay). */
typedef bool (*ingot_prefill_progress)(void *user, int done, int total);
ingot_status ingot_session_prefill(ingot_session *session, const int32_t *tokens, int n, const float **logits, ingot_prefill_progress progress, void *user);

/* --- sampling --- */
typedef struct ingot_sampler_config {
    float temperature;     /* 0 = greedy */
    int top_k;             /* 0 = off */
    float top_p, min_p;    /* 1 = off, 0 = off */
    float repeat_penalty;  /* 1 = off */
    int repeat_last_n;     /* tokens looked back for the penalty */
    uint64_t seed;
} ingot_sampler_config;
/* llama.cpp's defaults: 0.8, 40, 0.95, 0.05, 1.0, 64, and the given seed. */
void ingot_sampler_defaults(ingot_sampler_config *config);
ingot_status ingot_sampler_create(ingot_sampler **out, const ingot_sampler_config *config, int n_vocab);
void ingot_sampler_destroy(ingot_sampler *sampler);
/* Chooses a token from logits[n_vocab]; accept() tells it what was really taken (for the penalty). No allocation. */
int32_t ingot_sampler_sample(ingot_sampler *sampler, const float *logits);
void ingot_sampler_accept(ingot_sampler *sampler, int32_t token);

#ifdef __cplusplus
}
#endif
#endif
