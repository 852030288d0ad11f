#include "calibrate_derive.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../calibration/derive.h"
#include "../transform/transform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smoothing factors are at least this share of the largest: a channel that is always zero must not divide by zero. */
#define LEAST_SMOOTH 1e-5f

static float *new_floats(size_t n) { return ingot_alloc_array(n, sizeof(float), INGOT_MEM_OTHER); }
static ingot_status no_memory(void) { return ingot_fail(INGOT_E_NOMEM, "out of memory for the arrays of a head"); }

static ingot_status derive_mean(float **out, const ingot_moments *m) {
    *out = new_floats((size_t)m->dim);
    if (!*out) return no_memory();
    for (int i = 0; i < m->dim; i++) (*out)[i] = (float)(m->sum[i] / (double)m->n);
    return INGOT_OK;
}

/* sqrt(largest |x|), the larger for both channels of a RoPE pair: with the position one turns into the other. */
static ingot_status derive_smooth(float **out, const ingot_moments *m, bool adjacent_pairs) {
    const int dim = m->dim;
    *out = new_floats((size_t)dim);
    if (!*out) return no_memory();
    float largest = 0.0f;
    for (int i = 0; i < dim; i++) {
        const int half = dim / 2, partner = dim % 2 ? i : adjacent_pairs ? i ^ 1 : i < half ? i + half : i - half;
        (*out)[i] = sqrtf(fmaxf(m->max_abs[i], m->max_abs[partner]));
        largest = fmaxf(largest, (*out)[i]);
    }
    for (int i = 0; i < dim; i++) (*out)[i] = largest > 0.0f ? fmaxf((*out)[i], LEAST_SMOOTH * largest) : 1.0f;
    return INGOT_OK;
}

typedef struct ranked { double value; int channel; } ranked;

static int by_falling_value(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->channel - y->channel;
}

/* Channels by falling mean square. */
static ingot_status derive_outliers(float **out, const ingot_moments *m) {
    ranked list[INGOT_MAX_HEAD_DIM];
    *out = new_floats((size_t)m->dim);
    if (!*out) return no_memory();
    for (int i = 0; i < m->dim; i++) list[i] = (ranked){m->outer[i * m->dim + i], i};
    qsort(list, (size_t)m->dim, sizeof *list, by_falling_value);
    for (int i = 0; i < m->dim; i++) (*out)[i] = (float)list[i].channel;
    return INGOT_OK;
}

/* The sum over the group's heads of their queries' second moments: what errors of the scores cost. */
static void query_cost(const calibrate_head *h, double *cost, double *scratch) {
    const int group = h->shape->n_heads / h->shape->n_kv_heads;
    const size_t square = (size_t)h->shape->k_dim * (size_t)h->shape->k_dim;
    memset(cost, 0, square * sizeof *cost);
    for (int g = 0; g < group; g++) {
        ingot_moments_second(&h->q[g], false, scratch);
        for (size_t i = 0; i < square; i++) cost[i] += scratch[i] / group;
    }
}

/* scratch: three matrices. Keys are whitened less their mean, which methods subtract; values as they are. */
static ingot_status derive_whiten(calibrate_arrays *out, const calibrate_head *h, const double *output, double *scratch) {
    for (int side = 0; side < 2; side++) {
        const ingot_moments *m = side ? &h->v : &h->k;
        const size_t square = (size_t)m->dim * (size_t)m->dim;
        if (ingot_transform_get(INGOT_TRANSFORM_WHITEN)->check(m->dim)) continue;
        double *second = scratch, *cost = scratch + square;
        if (!side) query_cost(h, cost, cost + square);
        ingot_moments_second(m, !side, second);
        out->whiten[side] = new_floats(2 * square);
        if (!out->whiten[side]) return no_memory();
        INGOT_TRY(ingot_whiten_make(out->whiten[side], out->whiten[side] + square, second, side ? output : cost, m->dim));
    }
    return INGOT_OK;
}

static double share_positive(const float *q, int n, const double *u, int dim) {
    int positive = 0;
    for (int i = 0; i < n; i++) {
        double projection = 0.0;
        for (int j = 0; j < dim; j++) projection += u[j] * (double)q[i * dim + j];
        positive += projection > 0.0;
    }
    return n ? (double)positive / n : 0.0;
}

/* The mean of the directions of the group's heads. */
static ingot_status derive_filter(calibrate_arrays *out, const calibrate_head *h, int n_queries, double *scratch) {
    const int dim = h->shape->k_dim, group = h->shape->n_heads / h->shape->n_kv_heads;
    double u[INGOT_MAX_HEAD_DIM], mean[INGOT_MAX_HEAD_DIM], sum[INGOT_MAX_HEAD_DIM] = {0};
    out->filter = new_floats((size_t)dim);
    out->positive = ingot_alloc_array((size_t)group, sizeof *out->positive, INGOT_MEM_OTHER);
    if (!out->filter || !out->positive) return no_memory();
    for (int g = 0; g < group; g++) {
        ingot_moments_second(&h->q[g], false, scratch);
        ingot_moments_mean(&h->q[g], mean);
        INGOT_TRY(ingot_filter_direction(u, scratch, mean, dim));
        out->positive[g] = share_positive(h->q_sample + (ptrdiff_t)g * n_queries * dim, n_queries, u, dim);
        for (int i = 0; i < dim; i++) sum[i] += u[i];
    }
    for (int i = 0; i < dim; i++) out->filter[i] = (float)(sum[i] / group);
    return INGOT_OK;
}

static ingot_status derive(calibrate_arrays *out, const calibrate_head *h, const double *output, int n_queries) {
    const size_t k = (size_t)h->shape->k_dim, v = (size_t)h->shape->v_dim, dim = k > v ? k : v;
    INGOT_TRY(derive_mean(&out->mean[0], &h->k));
    INGOT_TRY(derive_mean(&out->mean[1], &h->v));
    INGOT_TRY(derive_smooth(&out->smooth, &h->k, h->shape->adjacent_pairs));
    INGOT_TRY(derive_outliers(&out->outliers[0], &h->k));
    INGOT_TRY(derive_outliers(&out->outliers[1], &h->v));
    double *scratch = ingot_alloc_array(3 * dim, dim * sizeof *scratch, INGOT_MEM_SCRATCH);
    ingot_status s = scratch ? derive_whiten(out, h, output, scratch) : no_memory();
    if (s == INGOT_OK) s = derive_filter(out, h, n_queries, scratch);
    ingot_dealloc(scratch);
    return s;
}

ingot_status ingot_calibrate_derive(calibrate_arrays *out, const calibrate_head *h, const double *output, int n_queries) {
    *out = (calibrate_arrays){0};
    const ingot_status s = derive(out, h, output, n_queries);
    if (s == INGOT_OK) return s;
    ingot_calibrate_arrays_free(out);
    return ingot_fail_prefix(s, "layer %d, KV head %d", h->layer, h->head);
}

void ingot_calibrate_arrays_free(calibrate_arrays *a) {
    void *owned[] = {a->mean[0], a->mean[1], a->outliers[0], a->outliers[1], a->whiten[0], a->whiten[1], a->smooth, a->filter, a->positive};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    *a = (calibrate_arrays){0};
}

static ingot_status add(ingot_calibration_writer *w, int kind, bool value, const calibrate_head *h, const float *x, size_t n) {
    return x ? ingot_calibration_writer_add(w, kind, 0, 0, value, h->layer, h->head, x, n) : INGOT_OK;
}

ingot_status ingot_calibrate_arrays_add(const calibrate_arrays *a, const calibrate_head *h, ingot_calibration_writer *w) {
    for (int side = 0; side < 2; side++) {
        const size_t dim = (size_t)(side ? h->shape->v_dim : h->shape->k_dim);
        INGOT_TRY(add(w, INGOT_CAL_MEAN, side, h, a->mean[side], dim));
        INGOT_TRY(add(w, INGOT_CAL_OUTLIERS, side, h, a->outliers[side], dim));
        INGOT_TRY(add(w, INGOT_CAL_WHITEN, side, h, a->whiten[side], 2 * dim * dim));
    }
    INGOT_TRY(add(w, INGOT_CAL_SMOOTH, false, h, a->smooth, (size_t)h->shape->k_dim));
    return add(w, INGOT_CAL_FILTER, false, h, a->filter, (size_t)h->shape->k_dim);
}
