/* Linear algebra for calibrations, whitening matrices and filter directions. */
#include "base/alloc.h"
#include "base/hadamard_signed.h"
#include "base/rng.h"
#include "calibration/derive.h"
#include "calibration/linalg.h"
#include "test.h"
#include <time.h>

static double *matrix(int n) { return ingot_alloc_array((size_t)n * (size_t)n, sizeof(double), INGOT_MEM_OTHER); }

/* x^T x / rows of normal numbers whose channel j has the size 10^(-spread j / n), mixed a little. */
static void moments(double *m, int n, int rows, double spread, ingot_rng *r) {
    double *x = ingot_alloc_array((size_t)n, sizeof *x, INGOT_MEM_OTHER);
    memset(m, 0, sizeof *m * (size_t)n * (size_t)n);
    for (int t = 0; t < rows; t++) {
        for (int j = 0; j < n; j++) x[j] = ingot_rng_normal(r) * pow(10, -spread * j / n) + (j ? 0.5 * x[j - 1] : 0);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) m[i * n + j] += x[i] * x[j] / rows;
    }
    ingot_dealloc(x);
}

/* Largest distance of a^T b from the identity. */
static double off_identity(const double *a, const double *b, int n) {
    double worst = 0, *p = matrix(n);
    ingot_multiply_transposed(p, a, b, n);
    for (int i = 0; i < n * n; i++) worst = fmax(worst, fabs(p[i] - (i / n == i % n)));
    ingot_dealloc(p);
    return worst;
}

TEST("linalg/Cholesky and the triangular solve") {
    enum { N = 24 };
    double a[N * N], l[N * N], p[N * N], x[N * N], y[N * N];
    ingot_rng r = {1};
    moments(a, N, 100, 3, &r);
    memcpy(l, a, sizeof l);
    CHECK(ingot_cholesky(l, N));
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) CHECK(l[i * N + j] == 0);
    memcpy(p, l, sizeof p);
    ingot_transpose(p, N);
    ingot_multiply(x, l, p, N);
    for (int i = 0; i < N * N; i++) CHECK_NEAR(x[i], a[i], 1e-14);
    for (int i = 0; i < N * N; i++) x[i] = ingot_rng_normal(&r);
    ingot_multiply_transposed(y, l, x, N);
    ingot_solve_lower_transposed(y, l, N);
    for (int i = 0; i < N * N; i++) CHECK_NEAR(y[i], x[i], 1e-9);
    a[5 * N + 5] = -1;
    CHECK(!ingot_cholesky(a, N));
    a[0] = NAN;
    CHECK(!ingot_cholesky(a, N));
}

/* a (kept) is taken apart; residual and orthogonality within eps. */
static void check_eigen(const double *a, int n) {
    double *v = matrix(n), *s = matrix(n), *back = matrix(n), w[256], size = 0, worst = 0;
    memcpy(v, a, sizeof *v * (size_t)n * (size_t)n);
    if (CHECK_OK(ingot_eigen(v, w, n))) {
        for (int i = 0; i < n * n; i++) s[i] = w[i / n] * v[i], size = fmax(size, fabs(a[i]));
        for (int i = 1; i < n; i++) CHECK(w[i - 1] <= w[i]);
        ingot_multiply_transposed(back, v, s, n);
        for (int i = 0; i < n * n; i++) worst = fmax(worst, fabs(back[i] - a[i]));
        CHECK(worst <= 1e-13 * size);
        ingot_transpose(v, n);
        CHECK(off_identity(v, v, n) < 1e-12);
    }
    ingot_dealloc(v);
    ingot_dealloc(s);
    ingot_dealloc(back);
}

TEST("linalg/eigenvectors of matrices of every kind") {
    static const int sizes[] = {1, 2, 3, 16, 65, 128};
    ingot_rng r = {2};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        const int n = sizes[c];
        double *a = matrix(n);
        test_case("zero, order %d", n);
        check_eigen(a, n);
        test_case("identity, order %d", n);
        for (int i = 0; i < n; i++) a[i * n + i] = 3;
        check_eigen(a, n);
        test_case("indefinite, order %d", n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = ingot_rng_normal(&r);
        check_eigen(a, n);
        test_case("graded over 12 orders, order %d", n);
        moments(a, n, n + 1, 6, &r);
        check_eigen(a, n);
        test_case("rank one, huge, order %d", n);
        for (int i = 0; i < n * n; i++) a[i] = 1e200 * (1 + i / n) * (1 + i % n);
        check_eigen(a, n);
        test_case("tiny, order %d", n);
        for (int i = 0; i < n * n; i++) a[i] *= 1e-290 / 1e200;
        check_eigen(a, n);
        ingot_dealloc(a);
    }
}

TEST("linalg/known eigenvalues") {
    enum { N = 50 };
    double a[N * N] = {0}, w[N];
    for (int i = 0; i < N; i++) {
        a[i * N + i] = 2;
        if (i) a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
    }
    CHECK_OK(ingot_eigen(a, w, N));
    for (int k = 0; k < N; k++) CHECK_NEAR(w[k], 2 - 2 * cos((k + 1) * M_PI / (N + 1)), 1e-14);
    a[3] = NAN;
    CHECK_STATUS(ingot_eigen(a, w, N), INGOT_E_INVALID);
}

TEST("linalg/a matrix of order 256 takes well below a second") {
    enum { N = 256 };
    double *a = matrix(N), w[N];
    ingot_rng r = {3};
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) a[i * N + j] = a[j * N + i] = ingot_rng_normal(&r);
    const clock_t start = clock();
    CHECK_OK(ingot_eigen(a, w, N));
    CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 1); /* 0.013 s on a machine of 2023, plain build */
    ingot_dealloc(a);
}

/* tr(a^T m a) */
static double spread_of(const double *a, const double *m, int n) {
    double *t = matrix(n), *u = matrix(n), sum = 0;
    ingot_multiply(t, m, a, n);
    ingot_multiply_transposed(u, a, t, n);
    for (int i = 0; i < n; i++) sum += u[i * n + i];
    ingot_dealloc(t);
    ingot_dealloc(u);
    return sum;
}

/* What a code with white error costs behind the pair a, b = a^-T. */
static double cost_of(const double *a, const double *b, const double *m, const double *c, int n) { return spread_of(a, m, n) * spread_of(b, c, n); }

static void damp(double *a, double by, int n) {
    double t = 0;
    for (int i = 0; i < n; i++) t += a[i * n + i];
    for (int i = 0; i < n; i++) a[i * n + i] += by * t / n;
}

/* A pair for `m` and `c` as doubles. */
static bool make_pair(double *a, double *b, const double *m, const double *c, int n) {
    float *fa = ingot_alloc_array((size_t)(n * n), sizeof *fa, INGOT_MEM_OTHER), *fb = ingot_alloc_array((size_t)(n * n), sizeof *fb, INGOT_MEM_OTHER);
    const bool ok = CHECK_OK(ingot_whiten_make(fa, fb, m, c, n));
    for (int i = 0; i < n * n && ok; i++) a[i] = (double)fa[i], b[i] = (double)fb[i];
    ingot_dealloc(fa);
    ingot_dealloc(fb);
    return ok;
}

/* The pair moved by one elementary step: a (I + e_ij x), b (I + e_ij x)^-T = b (I - e_ji x). */
static void nudge(double *a, double *b, int i, int j, double x, int n) {
    for (int r = 0; r < n; r++) a[r * n + j] += x * a[r * n + i], b[r * n + i] -= x * b[r * n + j];
}

TEST("whiten/the pair is inverse, keeps sizes and costs least") {
    static const int dims[] = {16, 48, 80, 96};
    ingot_rng r = {4};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const int n = dims[d];
        double *m = matrix(n), *c = matrix(n), *a = matrix(n), *b = matrix(n), *unit = matrix(n);
        test_case("dim %d", n);
        moments(m, n, 4 * n, 2, &r);
        moments(c, n, 4 * n, -1, &r);
        if (make_pair(a, b, m, c, n)) {
            double size = 0;
            damp(m, 1e-6, n);
            damp(c, 1e-2, n);
            ingot_transpose(a, n), ingot_transpose(b, n); /* off_identity takes a^T b, the pair's property is a b^T = 1 */
            CHECK(off_identity(a, b, n) < 1e-5);
            ingot_transpose(a, n), ingot_transpose(b, n);
            for (int i = 0; i < n; i++) size += m[i * n + i], unit[i * n + i] = 1;
            CHECK_NEAR(spread_of(a, m, n) / size, 1, 1e-5);
            const double least = cost_of(a, b, m, c, n);
            CHECK(least < 0.9 * cost_of(unit, unit, m, c, n)); /* any rotation costs what none costs */
            for (int k = 0; k < 20; k++) {
                const int i = (int)(ingot_rng_next(&r) % (unsigned)n), j = (i + 1 + (int)(ingot_rng_next(&r) % (unsigned)(n - 1))) % n;
                nudge(a, b, i, j, k & 1 ? 0.05 : -0.05, n);
                CHECK(cost_of(a, b, m, c, n) > least * (1 - 1e-6));
                nudge(a, b, i, j, k & 1 ? -0.05 : 0.05, n);
            }
        }
        ingot_dealloc(m), ingot_dealloc(c), ingot_dealloc(a), ingot_dealloc(b), ingot_dealloc(unit);
    }
}

TEST("whiten/both moments become the same matrix, flat along the channels") {
    enum { N = 64 };
    double *m = matrix(N), *c = matrix(N), *a = matrix(N), *b = matrix(N), *t = matrix(N), *keys = matrix(N), *queries = matrix(N);
    ingot_rng r = {5};
    moments(m, N, 300, 2, &r);
    moments(c, N, 300, 1, &r);
    if (make_pair(a, b, m, c, N)) {
        double flat = 0, ratio;
        damp(m, 1e-6, N);
        damp(c, 1e-2, N);
        ingot_multiply(t, m, a, N);
        ingot_multiply_transposed(keys, a, t, N);
        ingot_multiply(t, c, b, N);
        ingot_multiply_transposed(queries, b, t, N);
        for (int i = 0; i < N; i++) flat += keys[i * N + i] / N;
        ratio = keys[0] / queries[0];
        for (int i = 0; i < N * N; i++) CHECK_NEAR(queries[i] * ratio, keys[i], 1e-5 * flat);
        for (int i = 0; i < N; i++) CHECK_NEAR(keys[i * N + i] / flat, 1, 1e-5);
    }
    ingot_dealloc(m), ingot_dealloc(c), ingot_dealloc(a), ingot_dealloc(b), ingot_dealloc(t), ingot_dealloc(keys), ingot_dealloc(queries);
}

TEST("whiten/with nothing to tell channels apart it is the signed Hadamard matrix, up to a rotation") {
    enum { N = 32 };
    double m[N * N] = {0}, c[N * N] = {0};
    float a[N * N], b[N * N];
    for (int i = 0; i < N; i++) m[i * N + i] = 4, c[i * N + i] = 9;
    CHECK_OK(ingot_whiten_make(a, b, m, c, N));
    for (int i = 0; i < N; i++) {
        float row[N] = {0};
        row[i] = 1;
        ingot_hadamard_signed(row, row, N);
        for (int j = 0; j < N; j++) {
            CHECK_NEAR(fabs((double)a[i * N + j]), fabs((double)row[j]), 1e-5);
            CHECK_NEAR(a[i * N + j], b[i * N + j], 1e-5);
        }
    }
}

TEST("whiten/bad moments are refused") {
    enum { N = 16 };
    double m[N * N] = {0}, c[N * N] = {0};
    float a[N * N], b[N * N];
    for (int i = 0; i < N; i++) c[i * N + i] = 1;
    CHECK_STATUS(ingot_whiten_make(a, b, m, c, N), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "moment matrix has no positive trace");
    CHECK_STATUS(ingot_whiten_make(a, b, c, m, N), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "cost matrix has no positive trace");
    m[0] = INFINITY;
    CHECK_STATUS(ingot_whiten_make(a, b, m, c, N), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "not finite");
    m[0] = 1e-300, m[17] = 1e-300; /* rank two and far below float: still a pair of finite matrices, or refused */
    const ingot_status s = ingot_whiten_make(a, b, m, c, N);
    CHECK(s == INGOT_OK || s == INGOT_E_INVALID);
    CHECK_STATUS(ingot_whiten_make(a, b, c, c, 6), INGOT_E_INVALID);
    CHECK_STATUS(ingot_whiten_make(a, b, c, c, 1024), INGOT_E_INVALID);
    ingot_mem_fail_at(1);
    CHECK_STATUS(ingot_whiten_make(a, b, c, c, N), INGOT_E_NOMEM);
    ingot_mem_fail_at(2);
    CHECK_STATUS(ingot_whiten_make(a, b, c, c, N), INGOT_E_NOMEM);
    ingot_mem_fail_at(0);
}

TEST("direction/the published example, not centred, towards the mean query") {
    static const double second[4] = {13.5 / 4, 1.35 / 4, 1.35 / 4, .46 / 4}, mean[2] = {1.75, .2}, against[2] = {-1.75, -.2};
    double u[2];
    CHECK_OK(ingot_filter_direction(u, second, mean, 2));
    CHECK_NEAR(u[0], .994794, 1e-6);
    CHECK_NEAR(u[1], .101908, 1e-6);
    static const double keys[5][2] = {{-3, .2}, {-1, 1}, {-2, -1}, {-.5, 0}, {-4, 2}}, scores[5] = {-2.964000, -.892886, -2.091496, -.497397, -3.775360};
    for (int i = 0; i < 5; i++) CHECK_NEAR(keys[i][0] * u[0] + keys[i][1] * u[1], scores[i], 1e-6);
    CHECK_OK(ingot_filter_direction(u, second, against, 2));
    CHECK_NEAR(u[0], -.994794, 1e-6);
    static const double zero[4] = {0};
    CHECK_STATUS(ingot_filter_direction(u, zero, mean, 2), INGOT_E_INVALID);
}
