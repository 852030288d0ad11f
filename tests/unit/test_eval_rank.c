/* Rank correlation. */
#include "base/rng.h"
#include "eval/rank.h"
#include "test.h"

enum { MAX = 200 };
static ingot_ranked scratch[MAX];
static double ranks[2 * MAX];

TEST("eval/spearman of known rankings") {
    const float up[5] = {-3, 0, 1, 8, 100}, down[5] = {5, 4, 3, 2, 1}, mixed[5] = {2, 1, 4, 3, 5};
    CHECK_NEAR(ingot_spearman(up, up, 5, scratch, ranks), 1.0, 1e-15);
    CHECK_NEAR(ingot_spearman(up, down, 5, scratch, ranks), -1.0, 1e-15);
    CHECK_NEAR(ingot_spearman(up, mixed, 5, scratch, ranks), 0.8, 1e-15); /* 1 - 6 sum d^2 / (n (n^2 - 1)), sum d^2 = 4 */
    CHECK_NEAR(ingot_spearman(mixed, up, 5, scratch, ranks), 0.8, 1e-15);
}

TEST("eval/spearman shares ranks among equal values") {
    const float a[6] = {1, 2, 2, 3, 3, 3}, b[6] = {4, 6, 5, 9, 7, 8};
    /* ranks of a: 0 1.5 1.5 4 4 4, of b: 0 2 1 5 3 4 */
    CHECK_NEAR(ingot_spearman(a, b, 6, scratch, ranks), 15.0 / sqrt(15.0 * 17.5), 1e-12);
    const float same[3] = {2, 2, 2}, other[3] = {1, 2, 3};
    CHECK(ingot_spearman(same, other, 3, scratch, ranks) == 0.0);
    CHECK(ingot_spearman(other, other, 1, scratch, ranks) == 0.0);
}

TEST("eval/spearman does not see what keeps the order") {
    float a[MAX], b[MAX], c[MAX];
    ingot_rng rng = {5};
    for (int i = 0; i < MAX; i++) {
        a[i] = (float)ingot_rng_normal(&rng);
        b[i] = a[i] + 0.7f * (float)ingot_rng_normal(&rng);
        c[i] = expf(3.0f * b[i]);
    }
    const double rho = ingot_spearman(a, b, MAX, scratch, ranks);
    CHECK(rho > 0.6 && rho < 0.95);
    CHECK_NEAR(ingot_spearman(a, c, MAX, scratch, ranks), rho, 1e-15);
}
