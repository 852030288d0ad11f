/* Tiles and attention of a back end beside the reference: what the case tables of test_kv*.c share. */
#ifndef INGOT_TEST_KV_FIXTURE_H
#define INGOT_TEST_KV_FIXTURE_H
#include "backend/backend.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "test.h"

enum { KV_GUARD = 64, KV_GUARD_BYTE = 0x5a };

/* What the queries see of the tokens from `first` on. CAUSAL: token t all up to its own position. WINDOW: the last part of that.
 * RAGGED: every third token nothing, the others from odd places on. */
typedef enum kv_view { CAUSAL, WINDOW, RAGGED } kv_view;

typedef struct kv_case {
    ingot_kv_fmt f[2];
    int n_group, n_tokens;
    int first, n_ctx; /* tokens [first, n_ctx) are there */
    kv_view view;
    bool fast;
} kv_case;

/* A format with the codec's default variant; group 0 = its default. Codecs with params get a random codebook, which lives as long as the program. */
ingot_kv_fmt kv_fmt(int codec, ingot_kv_side side, int group, int dim);
/* Whether the codec takes this format: side, group and dim. */
bool kv_fmt_allowed(const ingot_kv_fmt *f);
bool kv_is_integer_pair(const kv_case *c); /* served in digits where there are few rows */

float *kv_random(size_t n, ingot_rng *rng, float sigma);
/* A tile between guards, all bytes KV_GUARD_BYTE. */
uint8_t *kv_tile_alloc(const ingot_tile_ops *ops, const ingot_kv_fmt *f, size_t *bytes);
void kv_tile_free(uint8_t *tile);

/* Puts random tokens into both back ends' tiles and compares attention over them, in one call and in two. */
void kv_run_case(const ingot_backend *ref, const ingot_backend *be, const kv_case *c);
void kv_name_case(const ingot_backend *be, ingot_isa isa, const kv_case *c);

/* fn for each back end but the reference, at each level up to the one in use. */
void kv_for_each_backend(void (*fn)(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa));
#endif
