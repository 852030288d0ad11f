/* k-means on planted clusters and on Gaussian vectors. */
#include "base/rng.h"
#include "eval/kmeans.h"
#include "test.h"
#include <stdlib.h>

static double nearest(const float *x, const float *centroids, int k, int dim) {
    double best = INFINITY;
    for (int c = 0; c < k; c++) {
        double d = 0.0;
        for (int j = 0; j < dim; j++) d += ((double)x[j] - (double)centroids[c * dim + j]) * ((double)x[j] - (double)centroids[c * dim + j]);
        best = d < best ? d : best;
    }
    return best;
}

static double mean_error(const float *x, int n, const float *centroids, int k, int dim) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += nearest(x + i * dim, centroids, k, dim);
    return sum / n;
}

TEST("eval/k-means finds planted clusters") {
    enum { K = 32, DIM = 4, EACH = 40, N = K * EACH };
    float planted[K * DIM], found[K * DIM], *x = malloc(N * DIM * sizeof *x);
    ingot_rng rng = {3};
    if (!CHECK(x != NULL)) return;
    for (int c = 0; c < K; c++)
        for (int j = 0; j < DIM; j++) planted[c * DIM + j] = (float)(c >> j & 1) * 10.0f + (j == 0 ? (float)(c / 16) * 40.0f : 0.0f);
    for (int i = 0; i < N; i++) /* clusters take turns, so that order tells nothing */
        for (int j = 0; j < DIM; j++) x[i * DIM + j] = planted[i % K * DIM + j] + 0.1f * (float)ingot_rng_normal(&rng);
    double error = 0.0;
    if (CHECK_OK(ingot_kmeans(found, &error, x, N, DIM, K))) {
        for (int c = 0; c < K; c++) CHECK(nearest(planted + c * DIM, found, K, DIM) < 0.02);
        CHECK_NEAR(error, 0.01 * DIM, 0.004);
        CHECK_NEAR(error, mean_error(x, N, found, K, DIM), 1e-4);
    }
    free(x);
}

static void check_gaussian(int n, int dim, int k, double most, double most_unseen) {
    float *x = malloc((size_t)(n * dim) * sizeof *x), *centroids = malloc((size_t)(k * dim) * sizeof *centroids), *again = malloc((size_t)(k * dim) * sizeof *again);
    ingot_rng rng = {7};
    double error = 0.0;
    test_case("%d vectors of %d, %d centroids", n, dim, k);
    for (int i = 0; i < n * dim; i++) x[i] = (float)ingot_rng_normal(&rng);
    if (CHECK_OK(ingot_kmeans(centroids, &error, x, (size_t)n, dim, k)) && CHECK_OK(ingot_kmeans(again, NULL, x, (size_t)n, dim, k))) {
        CHECK_MEM(again, centroids, (size_t)(k * dim) * sizeof *again);
        CHECK(error / dim < most);
        CHECK(error <= 1.01 * mean_error(x, n, centroids, k, dim) + 1e-9); /* what is said about the last pass, before the last update */
        const int unseen = 2000;
        for (int i = 0; i < unseen * dim; i++) x[i] = (float)ingot_rng_normal(&rng);
        CHECK(mean_error(x, unseen, centroids, k, dim) / dim < most_unseen);
    }
    free(x), free(centroids), free(again);
}

/* The best codebooks known for independent normal elements: 0.0971 per element with 256 vectors of 4, 0.0506 with 1024, 0.3486 with 16. From few
 * vectors what was seen fits better than that, and what was not seen worse. */
TEST("eval/k-means comes near the best codebooks for normal vectors") {
    check_gaussian(16384, 4, 16, 0.352, 0.365);
    check_gaussian(16384, 4, 256, 0.0971, 0.107);
    check_gaussian(16384, 4, 1024, 0.0475, 0.060);
}

TEST("eval/k-means with few different points, and sizes that it refuses") {
    enum { K = 16 };
    float x[3 * 2 * 5], c[K * 2];
    for (int i = 0; i < 15; i++) x[2 * i] = (float)(i % 3), x[2 * i + 1] = -1.0f;
    double error = -1.0;
    if (CHECK_OK(ingot_kmeans(c, &error, x, 15, 2, K))) {
        CHECK(error == 0.0);
        for (int i = 0; i < 3; i++) CHECK(nearest(x + 2 * i, c, K, 2) == 0.0);
        for (int i = 0; i < K; i++) CHECK(c[2 * i + 1] == -1.0f && isfinite(c[2 * i]));
    }
    float zero[4] = {0};
    CHECK_OK(ingot_kmeans(c, &error, zero, 2, 2, K));
    CHECK(error == 0.0 && c[0] == 0.0f && c[2 * K - 1] == 0.0f);
    CHECK_STATUS(ingot_kmeans(c, NULL, x, 0, 2, K), INGOT_E_INVALID);
    CHECK_STATUS(ingot_kmeans(c, NULL, x, 15, 0, K), INGOT_E_INVALID);
    CHECK_STATUS(ingot_kmeans(c, NULL, x, 15, 17, K), INGOT_E_INVALID);
    CHECK_STATUS(ingot_kmeans(c, NULL, x, 15, 2, 8192), INGOT_E_INVALID);
    CHECK_STATUS(ingot_kmeans(c, NULL, x, 15, 2, 17), INGOT_E_INVALID);
}
