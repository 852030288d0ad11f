#include "calibrate_stats.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/half.h"
#include <string.h>

/* Elements that are sampled of a head's keys, and of its values: enough for codebooks of 4096 vectors of 4 (32 for each) or of 8 (16 for each). */
enum { SAMPLED = 1 << 19 };

static int group_of(const ingot_layer_shape *l) { return l->n_heads / l->n_kv_heads; }
static int largest_dim(const ingot_layer_shape *l) { return l->k_dim > l->v_dim ? l->k_dim : l->v_dim; }

static ingot_status init_head(calibrate_stats *s, calibrate_head *h, bool samples) {
    const size_t n = (size_t)s->n_sample, k = (size_t)h->shape->k_dim, v = (size_t)h->shape->v_dim, group = (size_t)group_of(h->shape);
    INGOT_TRY(ingot_moments_init(&h->k, h->shape->k_dim));
    INGOT_TRY(ingot_moments_init(&h->v, h->shape->v_dim));
    h->q = ingot_alloc_array(group, sizeof *h->q, INGOT_MEM_OTHER);
    h->q_sample = ingot_alloc_array(group * (size_t)s->n_queries, k * sizeof *h->q_sample, INGOT_MEM_OTHER);
    if (samples) {
        h->k_sample = ingot_alloc_array(n, k * sizeof *h->k_sample, INGOT_MEM_OTHER);
        h->v_sample = ingot_alloc_array(n, v * sizeof *h->v_sample, INGOT_MEM_OTHER);
    }
    if (!h->q || !h->q_sample || (samples && (!h->k_sample || !h->v_sample))) return ingot_fail(INGOT_E_NOMEM, "out of memory for the samples of layer %d", h->layer);
    for (size_t i = 0; i < group; i++) INGOT_TRY(ingot_moments_init(&h->q[i], h->shape->k_dim));
    return INGOT_OK;
}

static ingot_status init_heads(calibrate_stats *s, bool samples) {
    for (int l = 0; l < s->n_layers; l++) s->n_heads += s->layers[l].n_kv_heads;
    s->heads = ingot_alloc_array((size_t)s->n_heads, sizeof *s->heads, INGOT_MEM_OTHER);
    if (!s->heads) return ingot_fail(INGOT_E_NOMEM, "out of memory for %d heads", s->n_heads);
    calibrate_head *at = s->heads;
    for (int l = 0; l < s->n_layers; l++)
        for (int h = 0; h < s->layers[l].n_kv_heads; h++, at++) {
            at->shape = &s->layers[l], at->layer = l, at->head = h;
            INGOT_TRY(init_head(s, at, samples));
        }
    return INGOT_OK;
}

static size_t pass_floats(const calibrate_stats *s, const ingot_layer_shape *l) {
    return (size_t)s->n_batch * ((size_t)l->n_heads * (size_t)l->k_dim + (size_t)l->n_kv_heads * (size_t)(l->k_dim + l->v_dim));
}

static ingot_status init(calibrate_stats *s, bool samples) {
    INGOT_TRY(init_heads(s, samples));
    s->pass = ingot_alloc_array((size_t)s->n_layers, sizeof *s->pass, INGOT_MEM_SCRATCH);
    for (int l = 0; s->pass && l < s->n_layers; l++) {
        s->pass[l] = ingot_alloc_array(pass_floats(s, &s->layers[l]), sizeof(float), INGOT_MEM_SCRATCH);
        if (!s->pass[l]) return ingot_fail(INGOT_E_NOMEM, "out of memory for a pass of %d tokens", s->n_batch);
    }
    return s->pass ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for %d layers", s->n_layers);
}

ingot_status ingot_calibrate_stats_init(calibrate_stats *s, const ingot_model_info *model, int64_t n_tokens, int64_t n_contexts, int n_batch, bool samples) {
    int dim = 1;
    for (int l = 0; l < model->n_layers; l++) dim = largest_dim(&model->layers[l]) > dim ? largest_dim(&model->layers[l]) : dim;
    const int64_t total = n_tokens - n_contexts * CALIBRATE_SINKS, queries = n_tokens, most = (SAMPLED + dim - 1) / dim;
    *s = (calibrate_stats){.layers = model->layers, .n_layers = model->n_layers, .n_batch = n_batch, .n_total = total, .n_query_total = queries,
                           .n_sample = (int)(total < most ? total : most), .n_queries = (int)(queries < CALIBRATE_QUERIES ? queries : CALIBRATE_QUERIES)};
    const ingot_status status = init(s, samples);
    if (status != INGOT_OK) ingot_calibrate_stats_free(s);
    return status;
}

void ingot_calibrate_stats_free(calibrate_stats *s) {
    for (int i = 0; s->heads && i < s->n_heads; i++) {
        calibrate_head *h = &s->heads[i];
        for (int j = 0; h->q && j < group_of(h->shape); j++) ingot_moments_free(&h->q[j]);
        ingot_moments_free(&h->k);
        ingot_moments_free(&h->v);
        void *owned[] = {h->q, h->k_sample, h->v_sample, h->q_sample};
        for (size_t j = 0; j < sizeof owned / sizeof owned[0]; j++) ingot_dealloc(owned[j]);
    }
    for (int l = 0; s->pass && l < s->n_layers; l++) ingot_dealloc(s->pass[l]);
    ingot_dealloc(s->pass);
    ingot_dealloc(s->heads);
    *s = (calibrate_stats){0};
}

static float *copy_rows(float *to, const float *from, ptrdiff_t stride, int n, int width) {
    for (int i = 0; i < n; i++, to += width) memcpy(to, from + i * stride, (size_t)width * sizeof *to);
    return to;
}

void ingot_calibrate_stats_capture(void *user, const ingot_captured *c) {
    calibrate_stats *s = user;
    const ingot_layer_shape *l = &s->layers[c->layer];
    float *to = s->pass[c->layer];
    to = copy_rows(to, c->q, c->q_stride, c->n_tokens, l->n_heads * l->k_dim);
    to = copy_rows(to, c->k, c->k_stride, c->n_tokens, l->n_kv_heads * l->k_dim);
    copy_rows(to, c->v, c->v_stride, c->n_tokens, l->n_kv_heads * l->v_dim);
    s->n_pass = c->n_tokens;
    s->first = c->positions[0];
}

/* The place that vector i of `total` gets among n samples, -1 for none. */
static int64_t sample_place(int64_t i, int64_t total, int n) {
    const int64_t place = i * n / total;
    return (i + 1) * n / total > place ? place : -1;
}

static void sample_halves(uint16_t *to, const float *x, int dim) {
    for (int i = 0; i < dim; i++) to[i] = ingot_f32_to_f16(x[i]);
}

static int skipped(const calibrate_stats *s) {
    const int skip = CALIBRATE_SINKS - s->first;
    return skip < 0 ? 0 : skip < s->n_pass ? skip : s->n_pass;
}

static void add_keys_and_values(const calibrate_stats *s, calibrate_head *h) {
    const ingot_layer_shape *l = h->shape;
    const int skip = skipped(s), k_width = l->n_kv_heads * l->k_dim, v_width = l->n_kv_heads * l->v_dim;
    const float *k = s->pass[h->layer] + (ptrdiff_t)s->n_pass * l->n_heads * l->k_dim, *v = k + (ptrdiff_t)s->n_pass * k_width;
    k += (ptrdiff_t)skip * k_width + h->head * l->k_dim;
    v += (ptrdiff_t)skip * v_width + h->head * l->v_dim;
    ingot_moments_add(&h->k, k, k_width, s->n_pass - skip);
    ingot_moments_add(&h->v, v, v_width, s->n_pass - skip);
    for (int i = 0; h->k_sample && i < s->n_pass - skip; i++) {
        const int64_t place = sample_place(s->n_seen + i, s->n_total, s->n_sample);
        if (place < 0) continue;
        sample_halves(h->k_sample + place * l->k_dim, k + (ptrdiff_t)i * k_width, l->k_dim);
        sample_halves(h->v_sample + place * l->v_dim, v + (ptrdiff_t)i * v_width, l->v_dim);
    }
}

static void add_queries(const calibrate_stats *s, calibrate_head *h) {
    const ingot_layer_shape *l = h->shape;
    const int group = group_of(l), width = l->n_heads * l->k_dim;
    for (int g = 0; g < group; g++) {
        const float *q = s->pass[h->layer] + (ptrdiff_t)(h->head * group + g) * l->k_dim;
        ingot_moments_add(&h->q[g], q, width, s->n_pass);
        for (int i = 0; i < s->n_pass; i++) {
            const int64_t place = sample_place(s->n_query_seen + i, s->n_query_total, s->n_queries);
            if (place >= 0) memcpy(h->q_sample + (g * s->n_queries + place) * l->k_dim, q + (ptrdiff_t)i * width, (size_t)l->k_dim * sizeof *q);
        }
    }
}

static void add_head(void *user, int i) {
    const calibrate_stats *s = user;
    add_keys_and_values(s, &s->heads[i]);
    add_queries(s, &s->heads[i]);
}

void ingot_calibrate_stats_add(calibrate_stats *s, ingot_engine *engine) {
    ingot_engine_parallel(engine, s->n_heads, add_head, s);
    s->n_seen += s->n_pass - skipped(s);
    s->n_query_seen += s->n_pass;
}
