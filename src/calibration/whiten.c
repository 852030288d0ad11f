#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/hadamard.h"
#include "../base/hadamard_signed.h"
#include "derive.h"
#include "linalg.h"
#include <ingot/types.h>
#include <math.h>
#include <string.h>

#define DAMP_COST 1e-2   /* rows that the text's queries never used still matter a little */
#define DAMP_MOMENT 1e-6 /* directions in which the text did not vary */
#define LEAST_LAMBDA 1e-9 /* of the largest */

static double trace(const double *a, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[(size_t)i * (size_t)n + (size_t)i];
    return sum;
}

/* y = x symmetrised, with `damp` times its mean diagonal added to the diagonal. */
static ingot_status damped(double *y, const double *x, double damp, const char *what, int n) {
    const size_t N = (size_t)n;
    const double t = trace(x, n);
    for (size_t i = 0; i < N * N; i++)
        if (!isfinite(x[i])) return ingot_fail(INGOT_E_INVALID, "the %s matrix is not finite", what);
    if (!(t > 0)) return ingot_fail(INGOT_E_INVALID, "the %s matrix has no positive trace", what);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) y[i * N + j] = (x[i * N + j] + x[j * N + i]) / 2 + (i == j ? damp * t / n : 0);
    return INGOT_OK;
}

/* r [n][n]: the signed Hadamard matrix for row vectors, exact but for the root. */
static void rotation(double *r, int n) {
    const double size = 1 / sqrt(n);
    for (int i = 0; i < n; i++) {
        float row[INGOT_MAX_HEAD_DIM] = {0};
        row[i] = 1;
        ingot_hadamard_signed(row, row, n);
        for (int j = 0; j < n; j++) r[(size_t)i * (size_t)n + (size_t)j] = row[j] < 0 ? -size : size;
    }
}

/* out = x diag(w) r; x is spoilt, scratch [n][n]. */
static void finish(float *out, double *x, const double *w, const double *r, double *scratch, int n) {
    const size_t N = (size_t)n;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) x[i * N + j] *= w[j];
    ingot_multiply(scratch, x, r, n);
    for (size_t i = 0; i < N * N; i++) out[i] = (float)scratch[i];
}

/* buf: five matrices and a vector. */
static ingot_status make(float *a, float *b, const double *m, const double *c, double *buf, int n) {
    const size_t nn = (size_t)n * (size_t)n;
    double *l = buf, *moment = l + nn, *u = moment + nn, *x = u + nn, *r = x + nn, *w = r + nn;
    INGOT_TRY(damped(l, c, DAMP_COST, "cost", n));
    INGOT_TRY(damped(moment, m, DAMP_MOMENT, "moment", n));
    const double size = trace(moment, n);
    if (!ingot_cholesky(l, n)) return ingot_fail(INGOT_E_INVALID, "the cost matrix is not positive definite");
    ingot_multiply(x, moment, l, n);
    ingot_multiply_transposed(u, l, x, n);
    INGOT_TRY(ingot_eigen(u, w, n));
    if (!(w[n - 1] > 0)) return ingot_fail(INGOT_E_INVALID, "the moment matrix is not positive");
    double roots = 0;
    for (int i = 0; i < n; i++) w[i] = fmax(w[i], LEAST_LAMBDA * w[n - 1]), roots += sqrt(w[i]);
    for (int i = 0; i < n; i++) w[i] = sqrt(size / roots) / sqrt(sqrt(w[i]));
    ingot_transpose(u, n); /* eigenvectors as columns */
    rotation(r, n);
    ingot_multiply(x, l, u, n);
    finish(a, x, w, r, moment, n);
    for (int i = 0; i < n; i++) w[i] = 1 / w[i];
    ingot_solve_lower_transposed(u, l, n); /* L^-T U */
    finish(b, u, w, r, moment, n);
    return INGOT_OK;
}

ingot_status ingot_whiten_make(float *a, float *b, const double *m, const double *c, int dim) {
    if (dim > INGOT_MAX_HEAD_DIM || !ingot_hadamard_exists(dim))
        return ingot_fail(INGOT_E_INVALID, "there is no Hadamard matrix of order %d here", dim);
    const size_t nn = (size_t)dim * (size_t)dim;
    double *buf = ingot_alloc_array(5 * nn + (size_t)dim, sizeof *buf, INGOT_MEM_SCRATCH);
    if (!buf) return ingot_fail(INGOT_E_NOMEM, "no memory for the matrices of a head of size %d", dim);
    ingot_status s = make(a, b, m, c, buf, dim);
    for (size_t i = 0; i < nn && s == INGOT_OK; i++)
        if (!isfinite(a[i]) || !isfinite(b[i])) s = ingot_fail(INGOT_E_INVALID, "a whitening matrix does not fit into floats");
    ingot_dealloc(buf);
    return s;
}
