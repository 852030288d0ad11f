#include "stats.h"
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void ingot_sort(double *v, size_t n) { qsort(v, n, sizeof *v, compare); }

double ingot_sorted_quantile(const double *v, size_t n, double q) {
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

static void sum_quarters(double quarter[4], const eval_position *p, int n_windows, int n) {
    for (int q = 0; q < 4; q++) {
        const int first = (int)((int64_t)q * n / 4), end = (int)((int64_t)(q + 1) * n / 4);
        double sum = 0.0;
        for (int w = 0; w < n_windows; w++)
            for (int i = first; i < end; i++) sum += p[(size_t)w * (size_t)n + (size_t)i].kld;
        quarter[q] = end > first ? sum / ((double)n_windows * (end - first)) : NAN;
    }
}

void ingot_eval_summarize(eval_summary *out, const eval_position *p, int n_windows, int n, double *sorted) {
    const size_t total = (size_t)n_windows * (size_t)n;
    double kld = 0.0, same = 0.0, dp = 0.0, dp2 = 0.0;
    for (size_t i = 0; i < total; i++) {
        const double d = exp(-p[i].nll) - exp(-p[i].nll_base);
        sorted[i] = p[i].kld;
        kld += p[i].kld;
        same += p[i].same_top;
        dp += d;
        dp2 += d * d;
    }
    ingot_sort(sorted, total);
    const double count = (double)total;
    *out = (eval_summary){.mean = kld / count, .p99 = ingot_sorted_quantile(sorted, total, 0.99), .p999 = ingot_sorted_quantile(sorted, total, 0.999),
                          .max = sorted[total - 1], .top1_agreement = same / count, .rms_dp = 100.0 * sqrt(dp2 / count), .mean_dp = 100.0 * dp / count};
    sum_quarters(out->quarter, p, n_windows, n);
}

double ingot_eval_mean_nll(const eval_position *p, int from, int n, bool base) {
    double sum = 0.0;
    for (int i = from; i < n; i++) sum += base ? p[i].nll_base : p[i].nll;
    return sum / (n - from);
}
