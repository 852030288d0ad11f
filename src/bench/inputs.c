/* What is measured where there is no model: random vectors, and caches of layers that are alike. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/rng.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

float *ingot_bench_random(size_t rows, size_t width, uint64_t seed) {
    float *x = ingot_alloc_array(rows, width * sizeof *x, INGOT_MEM_SCRATCH);
    ingot_rng rng = {seed};
    for (size_t i = 0; x && i < rows * width; i++) x[i] = (float)ingot_rng_normal(&rng);
    return x;
}

ingot_status ingot_bench_settle(ingot_status *status, char message[INGOT_BENCH_MESSAGE_BYTES], ingot_status s) {
    *status = s;
    if (s != INGOT_OK) snprintf(message, INGOT_BENCH_MESSAGE_BYTES, "%s", *ingot_last_error() ? ingot_last_error() : ingot_status_string(s));
    return s;
}

ingot_status ingot_bench_check_plan(const ingot_plan *plan) {
    const char *part;
    if (ingot_plan_needs_calibration(plan, &part)) return ingot_fail(INGOT_E_UNSUPPORTED, "%s needs a calibration, which belongs to a model: measure it with bench model", part);
    const char *policy = ingot_part_get(INGOT_PART_POLICY, plan->policy.policy)->name;
    if (strcmp(policy, "full")) return ingot_fail(INGOT_E_UNSUPPORTED, "%s decides by the tokens of a model what stays: measure it with bench model", policy);
    return INGOT_OK;
}

ingot_status ingot_bench_cache_open(ingot_cache **out, ingot_device *device, const ingot_plan *plan, const bench_shape *s) {
    ingot_layer_shape *shapes = ingot_alloc_array((size_t)s->n_layers, sizeof *shapes, INGOT_MEM_SCRATCH);
    if (!shapes) return ingot_fail(INGOT_E_NOMEM, "no memory for %d layers", s->n_layers);
    for (int i = 0; i < s->n_layers; i++)
        shapes[i] = (ingot_layer_shape){.n_heads = s->n_heads, .n_kv_heads = s->n_kv_heads, .k_dim = s->head_dim, .v_dim = s->head_dim, .scale = 1.0f / sqrtf((float)s->head_dim)};
    const ingot_cache_config config = {.layers = shapes, .n_layers = s->n_layers, .plan = *plan, .max_tokens = s->max_tokens, .max_seqs = 1, .max_batch = s->max_batch};
    const ingot_status status = ingot_cache_create(out, device, &config);
    ingot_dealloc(shapes);
    return status;
}
