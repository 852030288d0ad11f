/* Moments against a plain loop. */
#include "base/rng.h"
#include "eval/moments.h"
#include "test.h"

enum { N = 53, MAX_DIM = 96 };

/* Vectors with a strong common direction, in rows of `stride`. */
static void fill(float *x, int dim, int stride) {
    ingot_rng rng = {11};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < stride; j++) x[i * stride + j] = (j < dim ? 20.0f * (float)(j % 3) : 1e6f) + (float)ingot_rng_normal(&rng);
}

static double plain_second(const float *x, int stride, int i, int j, bool centred) {
    double a = 0.0, b = 0.0, ab = 0.0;
    for (int t = 0; t < N; t++) a += (double)x[t * stride + i], b += (double)x[t * stride + j];
    a = centred ? a / N : 0.0, b = centred ? b / N : 0.0;
    for (int t = 0; t < N; t++) ab += ((double)x[t * stride + i] - a) * ((double)x[t * stride + j] - b);
    return ab / N;
}

static void check_dim(int dim, int stride, const int *pieces) {
    static float x[N * (MAX_DIM + 8)];
    static double mean[MAX_DIM], second[MAX_DIM * MAX_DIM];
    ingot_moments m;
    fill(x, dim, stride);
    if (!CHECK_OK(ingot_moments_init(&m, dim))) return;
    for (int at = 0; *pieces; at += *pieces++) ingot_moments_add(&m, x + at * stride, stride, *pieces);
    test_case("%d elements", dim);
    CHECK_INT(m.n, N);
    ingot_moments_mean(&m, mean);
    for (int centred = 0; centred < 2; centred++) {
        ingot_moments_second(&m, centred, second);
        double worst = 0.0;
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++) worst = fmax(worst, fabs(second[i * dim + j] - plain_second(x, stride, i, j, centred)));
        CHECK_NEAR(worst, 0.0, 1e-10);
    }
    for (int i = 0; i < dim; i++) {
        double sum = 0.0;
        float largest = 0.0f;
        for (int t = 0; t < N; t++) sum += (double)x[t * stride + i], largest = fmaxf(largest, fabsf(x[t * stride + i]));
        CHECK_NEAR(mean[i], sum / N, 1e-12);
        CHECK(m.max_abs[i] == largest);
    }
    ingot_moments_free(&m);
}

TEST("eval/moments agree with a plain loop, whatever the pieces") {
    check_dim(64, 64, (const int[]){N, 0});
    check_dim(96, 104, (const int[]){1, 16, 17, 19, 0});
    check_dim(17, 20, (const int[]){50, 3, 0});
    check_dim(1, 1, (const int[]){N, 0});
}

TEST("eval/moments of nothing are zero") {
    ingot_moments m;
    double mean[3] = {1, 1, 1}, second[9] = {1};
    if (!CHECK_OK(ingot_moments_init(&m, 3))) return;
    ingot_moments_add(&m, NULL, 3, 0);
    ingot_moments_mean(&m, mean);
    ingot_moments_second(&m, true, second);
    for (int i = 0; i < 9; i++) CHECK(second[i] == 0.0 && mean[i / 3] == 0.0);
    ingot_moments_free(&m);
}
