/* Statistics of positions against figures computed by hand. */
#include "eval/stats.h"
#include "test.h"

TEST("eval/quantiles interpolate") {
    const double v[5] = {0, 1, 2, 3, 4};
    CHECK_NEAR(ingot_sorted_quantile(v, 5, 0.5), 2.0, 0.0);
    CHECK_NEAR(ingot_sorted_quantile(v, 5, 0.9), 3.6, 1e-12);
    CHECK_NEAR(ingot_sorted_quantile(v, 5, 1.0), 4.0, 0.0);
    CHECK_NEAR(ingot_sorted_quantile(v, 1, 0.99), 0.0, 0.0);
}

TEST("eval/summary of five positions") {
    /* p: 0.5, 0.25, 0.9, 0.1, 0.6; p_base: 0.6, 0.25, 0.8, 0.3, 0.6; differences in percent: -10, 0, 10, -20, 0 */
    const double p[5] = {0.5, 0.25, 0.9, 0.1, 0.6}, base[5] = {0.6, 0.25, 0.8, 0.3, 0.6}, kld[5] = {0.04, 0.01, 0.02, 0.5, 0.03};
    eval_position at[5];
    double sorted[5];
    for (int i = 0; i < 5; i++) at[i] = (eval_position){.nll = -log(p[i]), .nll_base = -log(base[i]), .kld = kld[i], .same_top = i != 3};
    eval_summary s;
    ingot_eval_summarize(&s, at, 1, 5, sorted);
    CHECK_NEAR(s.mean, 0.12, 1e-15);
    CHECK_NEAR(s.max, 0.5, 0.0);
    CHECK_NEAR(s.p99, 0.04 + 0.96 * 0.46, 1e-12); /* rank 0.99 * 4 = 3.96 of 0.01 0.02 0.03 0.04 0.5 */
    CHECK_NEAR(s.p999, 0.04 + 0.996 * 0.46, 1e-12);
    CHECK_NEAR(s.top1_agreement, 0.8, 1e-15);
    CHECK_NEAR(s.mean_dp, -4.0, 1e-12);
    CHECK_NEAR(s.rms_dp, sqrt((100.0 + 100.0 + 400.0) / 5.0), 1e-12);
    CHECK_NEAR(ingot_eval_mean_nll(at, 3, 5, false), -(log(0.1) + log(0.6)) / 2.0, 1e-12);
    CHECK_NEAR(ingot_eval_mean_nll(at, 3, 5, true), -(log(0.3) + log(0.6)) / 2.0, 1e-12);
    /* quarters of five: [0,1) [1,2) [2,3) [3,5) */
    CHECK_NEAR(s.quarter[0], 0.04, 0.0);
    CHECK_NEAR(s.quarter[1], 0.01, 0.0);
    CHECK_NEAR(s.quarter[2], 0.02, 0.0);
    CHECK_NEAR(s.quarter[3], 0.265, 1e-15);
}

TEST("eval/quarters are those of each window") {
    eval_position at[16];
    double sorted[16];
    for (int i = 0; i < 16; i++) at[i] = (eval_position){.kld = i % 8 / 2 + (i < 8 ? 0 : 10)};
    eval_summary s;
    ingot_eval_summarize(&s, at, 2, 8, sorted);
    for (int q = 0; q < 4; q++) CHECK_NEAR(s.quarter[q], q + 5.0, 1e-12);
    ingot_eval_summarize(&s, at, 1, 2, sorted); /* quarters without positions */
    CHECK(isnan(s.quarter[0]) && isnan(s.quarter[2]));
    CHECK_NEAR(s.quarter[1], 0.0, 0.0);
}
