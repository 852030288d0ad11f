/* Log-sum-exp, divergence and quantiles against plain double arithmetic. */
#include "base/rng.h"
#include "eval/logprob.h"
#include "test.h"

enum { MAX = 5003 };

static double plain_lse(const float *x, int n) {
    double best = -INFINITY, sum = 0.0;
    for (int i = 0; i < n; i++) best = fmax(best, (double)x[i]);
    for (int i = 0; i < n; i++) sum += exp((double)x[i] - best);
    return best + log(sum);
}

static double plain_kl(const float *x, const float *y, int n) {
    const double a = plain_lse(x, n), b = plain_lse(y, n);
    double kl = 0.0;
    for (int i = 0; i < n; i++) {
        const double p = (double)x[i] - a, q = (double)y[i] - b;
        kl += exp(p) * (p - q);
    }
    return kl;
}

TEST("eval/log-sum-exp and divergence agree with double") {
    static float x[MAX], y[MAX];
    ingot_rng rng = {3};
    const int sizes[] = {1, 2, 15, 16, 17, 255, 256, 257, 1000, MAX};
    const double spreads[] = {0.01, 1.0, 8.0, 60.0};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t w = 0; w < sizeof spreads / sizeof spreads[0]; w++) {
            const int n = sizes[s];
            for (int i = 0; i < n; i++) {
                x[i] = (float)(spreads[w] * ingot_rng_normal(&rng));
                y[i] = x[i] + (float)(0.05 * ingot_rng_normal(&rng));
            }
            test_case("%d elements, spread %g", n, spreads[w]);
            int top = -1, want = 0;
            for (int i = 1; i < n; i++) want = x[i] > x[want] ? i : want;
            CHECK_NEAR(ingot_log_sum_exp(x, n, &top), plain_lse(x, n), 4e-7);
            CHECK_INT(top, want);
            const ingot_divergence d = ingot_logits_divergence(x, y, n);
            CHECK_NEAR(d.kl, plain_kl(x, y, n), 1e-7);
            CHECK_NEAR(d.lse_p, plain_lse(x, n), 4e-7);
            CHECK_NEAR(d.lse_q, plain_lse(y, n), 4e-7);
            CHECK_INT(d.top_p, want);
            CHECK_NEAR(ingot_logits_divergence(x, x, n).kl, 0.0, 0.0);
        }
    }
}

TEST("eval/divergence of known distributions") {
    const float p[2] = {(float)log(0.75), (float)log(0.25)}, q[2] = {(float)log(0.5), (float)log(0.5)};
    const ingot_divergence d = ingot_logits_divergence(p, q, 2);
    CHECK_NEAR(d.kl, 0.75 * log(1.5) + 0.25 * log(0.5), 1e-7);
    CHECK_INT(d.top_p, 0);
    CHECK_INT(d.top_q, 0);
}

TEST("eval/a row with nothing finite is not a number") {
    const float bad[3] = {0.0f, NAN, 1.0f};
    int top;
    CHECK(!isfinite(ingot_log_sum_exp(bad, 3, &top)));
}
