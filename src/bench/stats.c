/* Medians and how sure they are. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../eval/stats.h"
#include <math.h>
#include <string.h>

static double median_of(const double *x, int n, int first, int step, double *scratch) {
    size_t m = 0;
    for (int i = first; i < n; i += step) scratch[m++] = x[i];
    ingot_sort(scratch, m);
    return ingot_sorted_quantile(scratch, m, 0.5);
}

/* The median lies between the order statistics at n/2 -+ 0.98 sqrt(n) in 95 of 100 cases, whatever the distribution. */
static double interval(const double *sorted, int n) {
    const double low = floor(0.5 * (n - 1) - 0.98 * sqrt(n));
    const int from = low > 0 ? (int)low : 0;
    return sorted[n - 1 - from] - sorted[from];
}

ingot_bench_summary ingot_bench_summarize(const double *x, int n, double *scratch) {
    ingot_bench_summary s = {NAN, NAN, NAN};
    if (n < 1) return s;
    const double even = median_of(x, n, 0, 2, scratch), odd = n > 1 ? median_of(x, n, 1, 2, scratch) : even;
    s.median = median_of(x, n, 0, 1, scratch);
    s.least = scratch[0];
    if (n > 1) s.noise_pct = 100 * fmax(0.5 * interval(scratch, n), fabs(even - odd)) / s.median;
    return s;
}

static double *scratch_of(int n) { return ingot_alloc_array((size_t)n, 2 * sizeof(double), INGOT_MEM_SCRATCH); }

ingot_status ingot_bench_times_finish(ingot_bench_times *t) {
    double *scratch = scratch_of(t->n);
    if (!scratch) return ingot_fail(INGOT_E_NOMEM, "out of memory for %d times", t->n);
    t->sum = ingot_bench_summarize(t->us, t->n, scratch);
    ingot_dealloc(scratch);
    return INGOT_OK;
}

/* Ratios, round by round, of n rounds of sums over k sets of times. */
static ingot_status ratio_of_sums(ingot_bench_summary *out, const ingot_bench_times *a, const ingot_bench_times *b, int k, int n) {
    double *scratch = scratch_of(n);
    *out = (ingot_bench_summary){NAN, NAN, NAN};
    if (!scratch) return ingot_fail(INGOT_E_NOMEM, "out of memory for %d ratios", n);
    for (int i = 0; i < n; i++) {
        double x = 0, y = 0;
        for (int set = 0; set < k; set++) x += a[set].us[i], y += b[set].us[i];
        scratch[n + i] = x / y;
    }
    *out = ingot_bench_summarize(scratch + n, n, scratch);
    ingot_dealloc(scratch);
    return INGOT_OK;
}

ingot_status ingot_bench_ratio(ingot_bench_summary *out, const ingot_bench_times *a, const ingot_bench_times *b) {
    return ratio_of_sums(out, a, b, 1, a->n < b->n ? a->n : b->n);
}

/* How far the same thing is from itself. */
static ingot_status distance(double *pct, const ingot_bench_times t[2]) {
    ingot_bench_summary s;
    INGOT_TRY(ingot_bench_ratio(&s, &t[0], &t[1]));
    *pct = 100 * fabs(s.median - 1) + s.noise_pct;
    return INGOT_OK;
}

ingot_status ingot_bench_compare(ingot_bench_verdict *out, const ingot_bench_times a[2], const ingot_bench_times b[2]) {
    double aa, bb;
    ingot_bench_summary gain;
    *out = (ingot_bench_verdict){NAN, NAN, NAN, 0};
    for (int i = 0; i < 2; i++)
        if (a[i].n != a[0].n || b[i].n != a[0].n) return ingot_fail(INGOT_E_INVALID, "%d and %d rounds cannot be compared", a[i].n, b[i].n);
    if (a[0].n < 2) return ingot_fail(INGOT_E_INVALID, "%d rounds are too few to tell noise from effects", a[0].n);
    INGOT_TRY(distance(&aa, a));
    INGOT_TRY(distance(&bb, b));
    INGOT_TRY(ratio_of_sums(&gain, a, b, 2, a[0].n));
    *out = (ingot_bench_verdict){.floor_pct = fmax(aa, bb), .gain = gain.median, .gain_noise_pct = gain.noise_pct};
    const double least = 1 + 0.01 * fmax(out->floor_pct, gain.noise_pct);
    out->effect = gain.median > least ? 1 : gain.median < 1 / least ? -1 : 0;
    return INGOT_OK;
}

double ingot_bench_at_most(double gain, double share) { return 1 / (1 - share + share / gain); }
