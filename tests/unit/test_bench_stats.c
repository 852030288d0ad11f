/* Medians, noise and verdicts against figures computed by hand. */
#include "base/rng.h"
#include "bench/bench.h"
#include "test.h"

TEST("bench/median and least") {
    const double x[5] = {5, 1, 9, 3, 7}, y[4] = {4, 1, 3, 2};
    double scratch[5];
    CHECK_NEAR(ingot_bench_summarize(x, 5, scratch).median, 5, 0);
    CHECK_NEAR(ingot_bench_summarize(x, 5, scratch).least, 1, 0);
    CHECK_NEAR(ingot_bench_summarize(y, 4, scratch).median, 2.5, 0);
    CHECK_NEAR(x[0], 5, 0); /* the order of rounds stays */
    CHECK(isnan(ingot_bench_summarize(x, 1, scratch).noise_pct) && ingot_bench_summarize(x, 1, scratch).median == 5);
    CHECK(isnan(ingot_bench_summarize(x, 0, scratch).median));
}

TEST("bench/noise is half the interval of the median") {
    /* 101 values 1000 .. 1100: the order statistics at 50 -+ 0.98 sqrt(101) = 40 and 60, so half of 1060 - 1040 over 1050. Even and odd rounds agree within 1. */
    double x[101], scratch[101];
    for (int i = 0; i < 101; i++) x[i] = 1000 + i;
    CHECK_NEAR(ingot_bench_summarize(x, 101, scratch).noise_pct, 100 * 10.0 / 1050, 1e-12);
    for (int i = 0; i < 101; i++) x[i] = 7;
    CHECK_NEAR(ingot_bench_summarize(x, 101, scratch).noise_pct, 0, 0);
}

TEST("bench/noise notices even and odd rounds that differ") {
    double x[400], scratch[400];
    for (int i = 0; i < 400; i++) x[i] = (i % 2 ? 130 : 100) + 0.001 * i;
    CHECK_NEAR(ingot_bench_summarize(x, 400, scratch).noise_pct, 100 * 30.0 / 115, 0.1);
}

/* n rounds of `us`, each with its own disturbance of at most `spread`. */
static ingot_bench_times times_of(double *us, int n, double mean, double spread, uint64_t seed) {
    ingot_rng rng = {seed};
    for (int i = 0; i < n; i++) us[i] = mean * (1 + spread * (2 * ingot_rng_uniform(&rng) - 1));
    return (ingot_bench_times){.n = n, .us = us};
}

static ingot_bench_verdict verdict_of(double a, double b, double spread, double second) {
    static double us[4][200];
    const ingot_bench_times x[2] = {times_of(us[0], 200, a, spread, 1), times_of(us[1], 200, a * second, spread, 2)};
    const ingot_bench_times y[2] = {times_of(us[2], 200, b, spread, 3), times_of(us[3], 200, b, spread, 4)};
    ingot_bench_verdict v;
    CHECK_OK(ingot_bench_compare(&v, x, y));
    return v;
}

TEST("bench/a clear gain is an effect") {
    const ingot_bench_verdict v = verdict_of(200, 100, 0.05, 1);
    CHECK_INT(v.effect, 1);
    CHECK_NEAR(v.gain, 2, 0.05);
    CHECK(v.floor_pct < 5);
    CHECK_INT(verdict_of(100, 200, 0.05, 1).effect, -1);
}

TEST("bench/a gain inside the noise is none") {
    CHECK_INT(verdict_of(100, 100, 0.05, 1).effect, 0);
    CHECK_INT(verdict_of(102, 100, 0.3, 1).effect, 0);
    /* A is 10 % away from itself: 8 % between A and B show nothing, 30 % do. */
    const ingot_bench_verdict v = verdict_of(108 / 1.05, 100, 0, 1.1);
    CHECK_NEAR(v.floor_pct, 100 * (1 - 1 / 1.1), 1e-6);
    CHECK_NEAR(v.gain, 1.08, 1e-9);
    CHECK_INT(v.effect, 0);
    CHECK_INT(verdict_of(130 / 1.05, 100, 0, 1.1).effect, 1);
}

TEST("bench/rounds that cannot be compared") {
    double us[4] = {1, 2, 3, 4};
    const ingot_bench_times one[2] = {{.n = 1, .us = us}, {.n = 1, .us = us}}, mixed[2] = {{.n = 4, .us = us}, {.n = 3, .us = us}};
    ingot_bench_verdict v;
    CHECK_STATUS(ingot_bench_compare(&v, one, one), INGOT_E_INVALID);
    CHECK_STATUS(ingot_bench_compare(&v, mixed, mixed), INGOT_E_INVALID);
}

TEST("bench/what a part's gain can give the whole") {
    CHECK_NEAR(ingot_bench_at_most(2, 0.5), 1 / 0.75, 1e-15);
    CHECK_NEAR(ingot_bench_at_most(2, 1), 2, 1e-15);
    CHECK_NEAR(ingot_bench_at_most(4, 0), 1, 1e-15);
    CHECK_NEAR(ingot_bench_at_most(1e9, 0.5), 2, 1e-6);
}
