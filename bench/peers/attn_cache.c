#include "attn_cache.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef PEER_QUANTIZE_MORE
#define PEER_QUANTIZE_MORE
#endif

enum { POOL_ROWS = 8191 }; /* prime, so that no two heads repeat in step */

void cache_normal(float *x, size_t n, uint64_t seed) {
    const double tau = 6.283185307179586;
    uint64_t s = seed * 0x9E3779B97F4A7C15u + 1;
    double u[2];
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            u[k] = ((double)(s >> 11) + 0.5) / 9007199254740992.0;
        }
        x[i] = (float)(sqrt(-2 * log(u[0])) * cos(tau * u[1]));
    }
}

static float *pool(const geometry *g, bool values) {
    const size_t n = (size_t)POOL_ROWS * (size_t)g->dim;
    float *x = malloc(n * sizeof *x);
    if (x) cache_normal(x, n, values ? 2 : 1);
    return x;
}

/* Which row of the pool a token's head holds: one and the same in every layout. */
static size_t row_of(const geometry *g, int64_t token, int kv_head) {
    return (size_t)((token * g->kv_heads + kv_head) % POOL_ROWS);
}

bool cache_fill(void *out, const geometry *g, enum ggml_type type, bool values) {
    const size_t row = ggml_row_size(type, g->dim);
    float *x = pool(g, values);
    char *packed = malloc(row * POOL_ROWS), *to = out;
    if (!x || !packed) return free(x), free(packed), false;
    if (type == GGML_TYPE_F32) memcpy(packed, x, row * POOL_ROWS);
    else ggml_quantize_chunk(type, x, packed, 0, POOL_ROWS, g->dim, NULL PEER_QUANTIZE_MORE);
    const int64_t outer = g->layout == LAYOUT_TOKENS ? g->tokens : g->kv_heads, inner = g->layout == LAYOUT_TOKENS ? g->kv_heads : g->tokens;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++, to += row)
            memcpy(to, packed + row * (g->layout == LAYOUT_TOKENS ? row_of(g, i, (int)j) : row_of(g, j, (int)i)), row);
    return free(x), free(packed), true;
}

bool cache_fill_transposed(ggml_fp16_t *out, const geometry *g) {
    float *x = pool(g, true);
    ggml_fp16_t *half = malloc((size_t)POOL_ROWS * (size_t)g->dim * sizeof *half);
    if (!x || !half) return free(x), free(half), false;
    ggml_fp32_to_fp16_row(x, half, (int64_t)POOL_ROWS * g->dim);
    for (int h = 0; h < g->kv_heads; h++)
        for (int e = 0; e < g->dim; e++)
            for (int64_t t = 0; t < g->tokens; t++) *out++ = half[row_of(g, t, h) * (size_t)g->dim + (size_t)e];
    return free(x), free(half), true;
}

static void exact_head(const geometry *g, const float *k, const float *v, const float *q, int kv_head, double *score, double *sum) {
    double top = -INFINITY, weights = 0;
    for (int64_t t = 0; t < g->tokens; t++) {
        const float *row = k + row_of(g, t, kv_head) * (size_t)g->dim;
        score[t] = 0;
        for (int e = 0; e < g->dim; e++) score[t] += (double)row[e] * q[e];
        score[t] /= sqrt(g->dim);
        top = fmax(top, score[t]);
    }
    for (int e = 0; e < g->dim; e++) sum[e] = 0;
    for (int64_t t = 0; t < g->tokens; t++) {
        const float *row = v + row_of(g, t, kv_head) * (size_t)g->dim;
        const double w = exp(score[t] - top);
        weights += w;
        for (int e = 0; e < g->dim; e++) sum[e] += w * row[e];
    }
    for (int e = 0; e < g->dim; e++) sum[e] /= weights;
}

double cache_error(const geometry *g, const float *query, const float *out) {
    float *k = pool(g, false), *v = pool(g, true);
    double *score = malloc((size_t)g->tokens * sizeof *score), *want = malloc((size_t)g->dim * sizeof *want), off = 0, norm = 0;
    const bool ok = k && v && score && want;
    for (int i = 0; ok && i < 2; i++) {
        const int h = i ? g->heads - 1 : 0;
        exact_head(g, k, v, query + (size_t)h * (size_t)g->dim, h / (g->heads / g->kv_heads), score, want);
        for (int e = 0; e < g->dim; e++) {
            const double d = out[h * g->dim + e] - want[e];
            off += d * d, norm += want[e] * want[e];
        }
    }
    free(k), free(v), free(score), free(want);
    return ok ? sqrt(off / norm) : -1;
}
