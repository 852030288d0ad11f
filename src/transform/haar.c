/* haar: one fixed orthogonal matrix per head size, close to uniformly distributed over all of them, the rotation of the papers on TurboQuant (arXiv
 * 2504.19874) and PolarQuant (arXiv 2502.02617). It exists for every head size, but takes dim^2 multiplications where a Hadamard matrix takes
 * dim log dim additions.
 *
 * The recipe uses only integers, +, -, *, / and square roots in a fixed order, so that the matrix is the same on every machine: entries by rows, each
 * the sum of twelve uniform numbers less 6 (the two halves, low first, of six outputs of splitmix64 with seed 42), which is nearly normal; Q of the QR
 * decomposition by Householder's reflections, in double, each column multiplied by the sign of R's diagonal. */
#include "../base/rng.h"
#include "row_matrix.h"
#include "transform.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* Room for the matrices of all head sizes 16 m up to 512, so that nothing is allocated when a vector is transformed; pages that no size
 * uses are never touched. The matrix of size 16 m starts behind those of the smaller sizes. */
enum { STEP = INGOT_ROW_LANES, SIZES = INGOT_MAX_HEAD_DIM / STEP, SQUARES = SIZES * (SIZES + 1) * (2 * SIZES + 1) / 6 };
static float matrices[SQUARES * STEP * STEP];
static atomic_bool made[SIZES + 1];
static double work[INGOT_MAX_HEAD_DIM * INGOT_MAX_HEAD_DIM]; /* under the lock, as all that fills matrices */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static float *place(int dim) {
    const int m = dim / STEP - 1;
    return matrices + (size_t)(m * (m + 1) * (2 * m + 1) / 6) * STEP * STEP;
}

static double nearly_normal(ingot_rng *r) {
    uint64_t sum = 0;
    for (int i = 0; i < 6; i++) {
        const uint64_t u = ingot_rng_next(r);
        sum += (u & 0xffffffffu) + (u >> 32);
    }
    return (double)(int64_t)(sum - (6ull << 32)) * 0x1p-32;
}

/* a -= tau v (v^T a) on rows [k, n) and columns [k + 1, n), v [n - k]. */
static void reflect(double *a, int n, int k, const double *v, double tau) {
    double w[INGOT_MAX_HEAD_DIM] = {0};
    for (int i = k; i < n; i++)
        for (int j = k + 1; j < n; j++) w[j] += v[i - k] * a[i * n + j];
    for (int i = k; i < n; i++) {
        const double f = tau * v[i - k];
        for (int j = k + 1; j < n; j++) a[i * n + j] -= f * w[j];
    }
}

/* The reflection I - tau v v^T, v[0] = 1, that takes column k from row k on to (beta, 0, ...); v stays in the column below the diagonal. */
static void eliminate(double *a, int n, int k, double *tau, double *sign) {
    double v[INGOT_MAX_HEAD_DIM], square = 0;
    for (int i = k; i < n; i++) square += a[i * n + k] * a[i * n + k];
    const double alpha = a[k * n + k], beta = alpha > 0 ? -sqrt(square) : sqrt(square);
    v[0] = 1;
    for (int i = k + 1; i < n; i++) v[i - k] = a[i * n + k] /= alpha - beta;
    *tau = (beta - alpha) / beta;
    *sign = beta < 0 ? -1 : 1;
    reflect(a, n, k, v, *tau);
}

/* Multiplies the reflections out, last one first; the columns of Q replace the vectors one by one. */
static void accumulate(double *a, int n, const double *tau) {
    double v[INGOT_MAX_HEAD_DIM];
    for (int k = n - 1; k >= 0; k--) {
        v[0] = 1;
        for (int i = k + 1; i < n; i++) v[i - k] = a[i * n + k];
        for (int j = k + 1; j < n; j++) a[k * n + j] = 0;
        reflect(a, n, k, v, tau[k]);
        for (int i = 0; i < n; i++) a[i * n + k] = i < k ? 0 : (i == k) - tau[k] * v[i - k];
    }
}

static void make(float *q, int n) {
    double tau[INGOT_MAX_HEAD_DIM], sign[INGOT_MAX_HEAD_DIM];
    ingot_rng r = {42};
    for (int i = 0; i < n * n; i++) work[i] = nearly_normal(&r);
    for (int k = 0; k < n; k++) eliminate(work, n, k, &tau[k], &sign[k]);
    accumulate(work, n, tau);
    for (int i = 0; i < n * n; i++) q[i] = (float)(work[i] * sign[i % n]);
}

static const float *matrix(int dim) {
    float *q = place(dim);
    atomic_bool *done = &made[dim / STEP];
    if (atomic_load_explicit(done, memory_order_acquire)) return q;
    pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(done, memory_order_relaxed)) {
        make(q, dim);
        atomic_store_explicit(done, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return q;
}

static void forward(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    ingot_row_times(y, x, matrix(dim), dim);
}

static void inverse(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    ingot_row_times_transposed(y, x, matrix(dim), dim);
}

/* A cache asks before its first step: the matrix is made here and not in the middle of a step. */
static const char *check(int dim) {
    const char *why = ingot_row_matrix_check(dim);
    if (!why) (void)matrix(dim);
    return why;
}

const ingot_transform ingot_transform_haar = {
    .name = "haar", .description = "a fixed random orthogonal matrix: the rotation of the papers, slower than hadamard",
    .source = "arXiv 2504.19874",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_NONE, .check = check, .forward = forward, .inverse = inverse,
};
