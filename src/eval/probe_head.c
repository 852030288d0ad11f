#include "probe_head.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "rank.h"
#include <math.h>

enum { LANES = 16, LEAST_KEYS = 32 };

static float dot(const float *a, const float *b, int n) {
    float lane[LANES] = {0}, sum = 0.0f;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) lane[j] += a[i + j] * b[i + j];
    for (; i < n; i++) sum += a[i] * b[i];
    for (int j = 0; j < LANES; j++) sum += lane[j];
    return sum;
}

int ingot_probe_queries(int n) { return n - n / 2 < PROBE_QUERIES ? n - n / 2 : PROBE_QUERIES; }
int ingot_probe_query(int i, int n_queries, int n) { return n / 2 + (int)((int64_t)i * (n - n / 2) / n_queries); }

/* Positions [lo, at] are what a query at `at` sees. */
static int first_seen(const probe_input *in, int at) {
    const int lo = in->sliding_window ? at - in->sliding_window + 1 : 0;
    return lo > 0 ? lo : 0;
}

static const float *row(probe_rows r, int t) { return r.x + t * r.stride; }

/* s [n]: the scores of what the query sees; the error of packed keys' scores goes into the sums. */
static void score(probe_sums *sums, float *s, const probe_input *in, const float *q, int at) {
    const int lo = first_seen(in, at);
    double mean = 0.0, square = 0.0;
    int n = 0;
    for (int t = lo; t <= at; t++) {
        s[t] = dot(q, row(in->k, t), in->k_dim);
        if (!in->packed[t]) continue;
        const double e = (double)dot(q, in->k_stored + (ptrdiff_t)t * in->k_dim, in->k_dim) - (double)s[t];
        sums->error += e * e;
        mean += (double)s[t], square += (double)s[t] * (double)s[t], n++;
    }
    if (n) sums->spread += square - mean * mean / n;
}

/* s [lo .. at] becomes the weights, o [v_dim] their sum of values. */
static void attend(float *s, double *o, const probe_input *in, int at) {
    const int lo = first_seen(in, at);
    float best = -INFINITY;
    double total = 0.0;
    for (int t = lo; t <= at; t++) best = fmaxf(best, s[t]);
    for (int t = lo; t <= at; t++) {
        s[t] = expf(in->scale * (s[t] - best));
        total += (double)s[t];
    }
    for (int i = 0; i < in->v_dim; i++) o[i] = 0.0;
    for (int t = lo; t <= at; t++) {
        s[t] = (float)((double)s[t] / total);
        const float *v = row(in->v, t), p = s[t];
        for (int i = 0; i < in->v_dim; i++) o[i] += (double)(p * v[i]);
    }
}

static void compare(probe_sums *sums, const double *o, const float *out, int dim) {
    double error = 0.0, a = 0.0, b = 0.0, ab = 0.0;
    for (int i = 0; i < dim; i++) {
        const double x = o[i], y = (double)out[i];
        error += (x - y) * (x - y), a += x * x, b += y * y, ab += x * y;
    }
    sums->out_error += error;
    sums->out_square += a;
    sums->cosine += a > 0.0 && b > 0.0 ? ab / sqrt(a * b) : a == b;
    sums->n_outputs++;
}

ingot_status ingot_probe_head_run(probe_sums *sums, float *attention, int *witnesses, const probe_input *in) {
    float *s = ingot_alloc_array((size_t)in->n, sizeof *s, INGOT_MEM_SCRATCH);
    if (!s) return ingot_fail(INGOT_E_NOMEM, "out of memory for the scores of %d keys", in->n);
    const int n_queries = ingot_probe_queries(in->n), half = in->n / 2;
    for (int h = 0; h < in->n_group; h++)
        for (int i = 0; i < n_queries; i++) {
            double o[INGOT_MAX_HEAD_DIM];
            const int at = ingot_probe_query(i, n_queries, in->n);
            score(sums, s, in, row(in->q, at) + (ptrdiff_t)h * in->k_dim, at);
            attend(s, o, in, at);
            compare(sums, o, row(in->out, at) + (ptrdiff_t)h * in->v_dim, in->v_dim);
            for (int t = first_seen(in, at); t < half; t++) attention[t] += s[t], witnesses[t] += h == 0;
        }
    for (int t = 0; t < half; t++)
        if (witnesses[t]) attention[t] /= (float)witnesses[t];
    ingot_dealloc(s);
    return INGOT_OK;
}

double ingot_probe_rank(const float *scores, const float *attention, const int *witnesses, int n) {
    const size_t size = (size_t)n + 1;
    ingot_ranked *scratch = ingot_alloc_array(size, sizeof *scratch, INGOT_MEM_SCRATCH);
    double *ranks = ingot_alloc_array(size, 2 * sizeof *ranks, INGOT_MEM_SCRATCH), rho = NAN;
    float *x = ingot_alloc_array(size, 2 * sizeof *x, INGOT_MEM_SCRATCH), *y = x ? x + size : NULL;
    int m = 0;
    for (int t = PROBE_SINKS; x && t < n / 2; t++)
        if (witnesses[t] >= PROBE_WITNESSES) x[m] = scores[t], y[m++] = attention[t];
    if (scratch && ranks && m >= LEAST_KEYS) rho = ingot_spearman(x, y, m, scratch, ranks);
    ingot_dealloc(scratch);
    ingot_dealloc(ranks);
    ingot_dealloc(x);
    return rho;
}
