/* What many positions together say. */
#ifndef INGOT_EVAL_STATS_H
#define INGOT_EVAL_STATS_H
#include <ingot/types.h>

/* One predicted token: what the plan and the base make of it. */
typedef struct eval_position {
    double nll, nll_base; /* of the right token, nats */
    double kld;           /* from the base's distribution */
    bool same_top;
} eval_position;

typedef struct eval_summary {
    double mean, p99, p999, max; /* KL divergence */
    double quarter[4];           /* its means over the quarters of the positions; NaN for a quarter without any */
    double top1_agreement;       /* share */
    double rms_dp, mean_dp;      /* of p(right token) - p_base(right token), in percent */
} eval_summary;

/* Over windows of `n` positions each, one behind the other in p[n_windows * n]; sorted[n_windows * n] is scratch. Quarter q of a window holds positions
 * [q n / 4, (q + 1) n / 4). */
void ingot_eval_summarize(eval_summary *out, const eval_position *p, int n_windows, int n, double *sorted);
/* Mean of -log p of p[from..n). */
double ingot_eval_mean_nll(const eval_position *p, int from, int n, bool base);
/* Ascending. */
void ingot_sort(double *v, size_t n);
/* Quantile q of v[n], ascending, with linear interpolation between order statistics. n at least 1. */
double ingot_sorted_quantile(const double *v, size_t n, double q);
#endif
