/* A cache with made-up inputs, and a slow, plain attention over what the cache should have stored.
 * The content of a token is a function of (tag, position, layer) alone, so that the same tokens can be fed in any batches. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H
#include "base/cpu.h"
#include "cache/cache_team.h"
#include "test.h"
#include <ingot/ingot.h>

enum { FIX_LAYERS = 3, FIX_SEQS = 6, FIX_TOKENS = 1200 };

typedef struct cache_case {
    ingot_layer_shape layers[FIX_LAYERS];
    int n_layers;
    const char *kv;
    int window, sinks;
    int max_tokens, max_seqs, max_batch; /* 0: FIX_TOKENS, FIX_SEQS, 256 */
    const ingot_calibration *calibration;
} cache_case;

/* A device that the tests run on: "ref", and "cpu" at every level of this machine. */
typedef struct target {
    const char *device;
    ingot_isa isa;
} target;
int targets(target out[8]);
ingot_device *target_open(const target *t, int n_threads);

typedef struct fixture {
    cache_case spec;
    ingot_device *device;
    ingot_cache *cache;
    uint32_t tag[FIX_SEQS][FIX_TOKENS]; /* content of each position */
    int n[FIX_SEQS];
    float *out[FIX_LAYERS]; /* of the last step, [n][n_heads][v_dim] */
} fixture;

/* Opens device and cache; false (and a failed check) when that does not work. */
bool fixture_open(fixture *f, const cache_case *spec, const target *t, int n_threads);
void fixture_close(fixture *f);
/* One step: token i of sequence seqs[i] with content tags[i]. Outputs in f->out. Ends the step. */
void fixture_step(fixture *f, const int *seqs, const uint32_t *tags, int n);
/* The same without step_end. */
void fixture_step_open(fixture *f, const int *seqs, const uint32_t *tags, int n);
/* n tokens of one sequence and tag in one step. */
void fixture_feed(fixture *f, int seq, uint32_t tag, int n);
/* What the rows of positions [from, to) of a layer should be, [to - from][n_heads][v_dim]. Position p is exact for the query at
 * t when p < sinks, or p >= exact_from and p is not packed once t + 1 tokens are there. */
void fixture_expect(const fixture *f, int layer, int seq, int from, int to, int exact_from, float *out);
/* The same for content that is given, without a cache. */
void cache_expect(const cache_case *spec, const uint32_t *tags, int layer, int from, int to, int exact_from, float *out);
size_t out_width(const cache_case *spec, int layer);
/* Whether two sequences, perhaps of two caches, hold the same canonical rows in all layers, heads and sides. */
bool same_rows(const fixture *a, int seq_a, const fixture *b, int seq_b, int n_tokens);
/* A calibration with every kind of array for layers of these shapes: made-up numbers that are valid. NULL and a failed check when it cannot be made. */
ingot_calibration *made_up_calibration(const ingot_layer_shape *layers, int n_layers);
ingot_layer_shape shape_of(int n_heads, int n_kv_heads, int k_dim, int v_dim, int sliding);
#endif
