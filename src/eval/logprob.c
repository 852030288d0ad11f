#include "logprob.h"
#include "../base/half.h"
#include <math.h>

enum { LANES = 16, BLOCK = 256 };

/* e^x for x <= 0, 0 below -87 (where 1e-38 adds nothing to a sum that is at least 1). 2^n is made from the bits of n; the
 * rest, within ln2/2, goes through the Taylor polynomial of degree 7. */
static inline float exp_neg(float x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    const float t = x * 1.44269504f + magic, n = t - magic;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln2 in two parts */
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const float e = ingot_bits_f32(ingot_f32_bits(p) + (ingot_f32_bits(t) << 23));
    return x < -87.0f ? 0.0f : e;
}

static float max_of(const float *x, int n) {
    float lane[LANES], best = -INFINITY;
    for (int j = 0; j < LANES; j++) lane[j] = -INFINITY;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (; i < n; i++) best = x[i] > best ? x[i] : best;
    for (int j = 0; j < LANES; j++) best = lane[j] > best ? lane[j] : best;
    return best;
}

static int first_of(const float *x, int n, float value) {
    for (int i = 0; i < n; i++)
        if (x[i] == value) return i;
    return 0;
}

/* e[len] = exp(x - best), padded with 0 to a multiple of LANES. */
static void exp_block(const float *x, int len, float best, float e[BLOCK]) {
    for (int i = 0; i < len; i++) e[i] = exp_neg(x[i] - best);
    for (int i = len; i % LANES; i++) e[i] = 0.0f;
}

static void add_lanes(double sum[LANES], const float *v, int len) {
    for (int i = 0; i < len; i += LANES)
        for (int j = 0; j < LANES; j++) sum[j] += (double)v[i + j];
}

static double total(const double sum[LANES]) {
    double s = 0.0;
    for (int j = 0; j < LANES; j++) s += sum[j];
    return s;
}

double ingot_log_sum_exp(const float *x, int n, int *top) {
    const float best = max_of(x, n);
    double sum[LANES] = {0};
    float e[BLOCK];
    for (int at = 0; at < n; at += BLOCK) {
        const int len = n - at < BLOCK ? n - at : BLOCK;
        exp_block(x + at, len, best, e);
        add_lanes(sum, e, len);
    }
    *top = first_of(x, n, best);
    return (double)best + log(total(sum));
}

/* KL = sum p (log p - log q) = sum p (x - y) - (lse_p - lse_q): one exponential per element of each row. */
ingot_divergence ingot_logits_divergence(const float *x, const float *y, int n) {
    ingot_divergence d;
    const float best_x = max_of(x, n), best_y = max_of(y, n);
    double sum_x[LANES] = {0}, sum_y[LANES] = {0}, sum_d[LANES] = {0};
    float ex[BLOCK], ey[BLOCK];
    for (int at = 0; at < n; at += BLOCK) {
        const int len = n - at < BLOCK ? n - at : BLOCK;
        exp_block(x + at, len, best_x, ex);
        exp_block(y + at, len, best_y, ey);
        add_lanes(sum_x, ex, len);
        add_lanes(sum_y, ey, len);
        for (int i = 0; i < len; i++) ex[i] *= x[at + i] - y[at + i];
        add_lanes(sum_d, ex, len);
    }
    d.lse_p = (double)best_x + log(total(sum_x));
    d.lse_q = (double)best_y + log(total(sum_y));
    d.top_p = first_of(x, n, best_x);
    d.top_q = first_of(y, n, best_y);
    d.kl = total(sum_d) / total(sum_x) - (d.lse_p - d.lse_q);
    return d;
}
