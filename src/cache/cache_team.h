/* The cache from inside a running team (the engine's forward pass) and for whoever looks at its stored rows. */
#ifndef INGOT_CACHE_TEAM_H
#define INGOT_CACHE_TEAM_H
#include "../base/pool.h"
#include "../codec/codec.h"
#include <ingot/cache.h>

/* ingot_cache_layer for all threads of a team of the cache's device. Row i of q, k, v and out starts at i * stride (floats). Ends with
 * a barrier. Failures stick to the step: see ingot_cache_step_status; out is undefined then. */
void ingot_cache_layer_team(ingot_cache *cache, int layer, const float *q, ptrdiff_t q_stride, const float *k, ptrdiff_t k_stride,
                            const float *v, ptrdiff_t v_stride, float *out, ptrdiff_t out_stride, const ingot_team *team);
/* The same without attention. Policies that watch attention learn nothing of the tokens. */
void ingot_cache_store_team(ingot_cache *cache, int layer, const float *k, ptrdiff_t k_stride, const float *v, ptrdiff_t v_stride, const ingot_team *team);
/* INGOT_OK, or what went wrong in the layers of the running step so far (one thread asks, outside the team). */
ingot_status ingot_cache_step_status(const ingot_cache *cache);

/* Canonical block that holds one stored position, as it lies in the cache (transformed, if the plan says so); *fmt: its format. `block` has
 * room for INGOT_PAGE_TOKENS * (2 * dim + 4) bytes. Positions that are no longer held: INGOT_E_INVALID. */
ingot_status ingot_cache_get_block(const ingot_cache *cache, int layer, int seq, bool value, int head, int position, void *block, ingot_kv_fmt *fmt);
/* Takes x [dim], what such a block decodes to for this position (which is held), from its stored form back into the model's own frame: the mean of centred keys is
 * added, transforms are undone. Returns whether the position is packed; else it is one of the exact ones. */
bool ingot_cache_restore_row(const ingot_cache *cache, int layer, int seq, bool value, int head, int position, float *x);

/* --- for measuring (cache_fill.c) --- */
/* Appends n_tokens to a sequence without attention: token i has row i % n_rows of k [n_rows][n_kv_heads][k_dim] and v. All layers must be alike: the first one
 * stores the tokens, the others get copies of its bytes. INGOT_E_INVALID when they are not, or when the plan evicts; those of a step. */
ingot_status ingot_cache_fill(ingot_cache *cache, int seq, int n_tokens, const float *k, const float *v, int n_rows);
/* Writes all memory of a cache that nothing was stored in yet: the system gives memory at its first touch only, which takes longer than storing. */
void ingot_cache_touch(ingot_cache *cache);
/* Bytes of keys and values that token n of a sequence (itself included) attends on in one layer, as they lie in tiles: the packed ones, and the exact ones. */
void ingot_cache_attended_bytes(const ingot_cache *cache, int layer, int n, size_t *packed, size_t *exact);
#endif
