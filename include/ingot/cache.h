/* A paged, packed key/value cache of one model shape, and attention on its packed form.
 * C11, C++-clean. A cache is used by one thread at a time; several caches are independent. */
#ifndef INGOT_CACHE_H
#define INGOT_CACHE_H
#include <ingot/method.h>
#include <ingot/status.h>
#include <ingot/types.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_cache ingot_cache;
typedef struct ingot_device ingot_device; /* see ingot/device.h */

/* Shape of one attention layer. */
typedef struct ingot_layer_shape {
    int n_heads;        /* query heads; a multiple of n_kv_heads */
    int n_kv_heads;
    int k_dim, v_dim;   /* elements of one key / value vector */
    int sliding_window; /* a query at position p sees keys in (p - sliding_window, p]; 0 = all */
    float scale;        /* softmax scale, multiplied onto q.k */
    bool adjacent_pairs; /* RoPE rotates channels (2j, 2j + 1); else (j, j + k_dim / 2). Only formats that work on pairs care */
} ingot_layer_shape;

typedef struct ingot_cache_config {
    const ingot_layer_shape *layers; /* [n_layers], copied */
    int n_layers;
    ingot_plan plan;
    int max_tokens; /* tokens that all sequences together can hold in layers without sliding window (those with one have room of
                       their own for max_seqs windows and a batch) */
    int max_seqs;   /* sequences that exist at the same time */
    int max_batch;  /* tokens of one step, all sequences together */
    const ingot_calibration *calibration; /* borrowed, must outlive the cache; NULL when the plan needs none */
} ingot_cache_config;

/* Creates a cache on `device` (borrowed, must outlive it). Everything is allocated here; no later call on
 * the cache allocates. Errors: INGOT_E_INVALID / INGOT_E_UNSUPPORTED naming the shape or plan, INGOT_E_NOMEM. */
ingot_status ingot_cache_create(ingot_cache **out, ingot_device *device, const ingot_cache_config *config);
void ingot_cache_destroy(ingot_cache *cache);

/* Opens an empty sequence / closes one and returns its pages (not while it is in a running step: nothing happens then). `seq` is a small handle. INGOT_E_FULL if none is free. */
ingot_status ingot_cache_seq_open(ingot_cache *cache, int *seq);
void ingot_cache_seq_close(ingot_cache *cache, int seq);
/* Opens `*seq` with the first `n_tokens` of `from`, sharing whole pages (reference-counted, copy on write).
 * INGOT_E_INVALID when a sliding-window layer no longer holds what position n_tokens needs. */
ingot_status ingot_cache_seq_fork(ingot_cache *cache, int *seq, int from, int n_tokens);
/* Tokens in the sequence (the true position of the next one). */
int ingot_cache_seq_tokens(const ingot_cache *cache, int seq);
/* Keeps the first `n_tokens` (rollback). INGOT_E_INVALID when more than held, or when a sliding-window layer
 * has already dropped a page that position n_tokens would need (trim to 0 always works). With an exact window: tokens that
 * are packed already stay packed, so the exact range is shorter until new tokens have filled it. */
ingot_status ingot_cache_trim(ingot_cache *cache, int seq, int n_tokens);

/* A step: `n` new tokens, token i goes to the end of sequence seqs[i] (tokens of one sequence in order).
 * begin reserves pages and gives each token its true position in positions[n] (may be NULL).
 * Errors: INGOT_E_FULL with held and wanted counts, nothing reserved. */
ingot_status ingot_cache_step_begin(ingot_cache *cache, const int *seqs, int n, int *positions);
/* For each layer once, in any order, between begin and end:
 *   k [n][n_kv_heads][k_dim], v [n][n_kv_heads][v_dim], q [n][n_heads][k_dim] f32 in;
 *   out [n][n_heads][v_dim] f32. Stores k and v packed, then attends: a token sees itself and all older tokens
 * of its sequence through the packed form, the exact window and sinks excepted. A row that sees nothing gives
 * zeros. Non-finite k or v: INGOT_E_INVALID naming layer, head and token; out is undefined and the step can only be cancelled. */
ingot_status ingot_cache_layer(ingot_cache *cache, int layer, const float *q, const float *k, const float *v, float *out);
/* Ends the step: the tokens now belong to their sequences; pages that left every sliding window are returned.
 * A step in which a layer failed or was left out is cancelled instead. */
void ingot_cache_step_end(ingot_cache *cache);
/* Gives the step up: the sequences are as before step_begin. (With an exact window, and after a layer has run: old tokens that
 * the step pushed out of the window's store come back as what they were packed to.) */
void ingot_cache_step_cancel(ingot_cache *cache);

/* Memory, from the allocator. `resident_bytes`: pages in use plus exact windows and tables;
 * `capacity_bytes`: all that was reserved; `f16_bytes`: what an f16 cache of the same tokens takes
 * (2 bytes an element, sliding windows honoured); `elements`: K and V elements held. */
typedef struct ingot_cache_memory {
    size_t resident_bytes, capacity_bytes, f16_bytes;
    size_t exact_bytes; /* of resident_bytes: exact windows, sinks, and what waits to be packed, in whole pages */
    size_t method_bytes; /* what the plan takes from a calibration: its arrays (matrices, codebooks, ...) and the tables made of them. A fixed sum for a
                          * model, however many tokens and sequences, and not among the resident bytes */
    uint64_t elements;
    int n_tokens;    /* held in layers without sliding window (else in those of the widest), over all sequences, shared ones counted once per sequence */
    int n_positions; /* seen, what a policy has evicted included */
} ingot_cache_memory;
void ingot_cache_memory_get(const ingot_cache *cache, ingot_cache_memory *out);

/* The plan the cache was made with, in its form for the cache's shapes (ingot_plan_fit). */
const ingot_plan *ingot_cache_plan(const ingot_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
