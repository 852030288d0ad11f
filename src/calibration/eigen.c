/* Symmetric eigenvalues: Householder's reduction to a tridiagonal matrix, then QL steps with implicit shifts.
 * Source: Bowdler, Martin, Reinsch and Wilkinson, "The QR and QL algorithms for symmetric matrices", Numerische Mathematik 11 (1968).
 * Eigenvectors are kept as rows, so that every inner loop runs along a row. */
#include "../base/alloc.h"
#include "../base/error.h"
#include "linalg.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_STEPS = 100 }; /* per eigenvalue; two are usual */

static double dot(const double *x, const double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* The reflection H = I - tau v v^T that takes x [n] to (returned value, 0, ...). v replaces x; tau 0: H = I. */
static double reflection(double *x, int n, double *tau) {
    const double tail = n > 1 ? dot(x + 1, x + 1, n - 1) : 0, alpha = x[0];
    *tau = 0;
    if (!(tail > 0)) return alpha;
    const double norm = sqrt(alpha * alpha + tail), beta = alpha > 0 ? -norm : norm;
    x[0] = alpha - beta;
    *tau = 2 / (x[0] * x[0] + tail);
    return beta;
}

/* b = H b H for the symmetric b [n][stride], n rows and columns; p [n] is scratch. */
static void reflect_both(double *b, int n, int stride, const double *v, double tau, double *p) {
    memset(p, 0, sizeof *p * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) p[j] += v[i] * b[(size_t)i * (size_t)stride + (size_t)j];
    for (int j = 0; j < n; j++) p[j] *= tau;
    const double half = tau * dot(p, v, n) / 2;
    for (int j = 0; j < n; j++) p[j] -= half * v[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) b[(size_t)i * (size_t)stride + (size_t)j] -= v[i] * p[j] + p[i] * v[j];
}

/* q = H q on rows [first, n) of q [n][n]; v [n - first], p [n] scratch. */
static void reflect_rows(double *q, int n, int first, const double *v, double tau, double *p) {
    memset(p, 0, sizeof *p * (size_t)n);
    for (int i = first; i < n; i++)
        for (int j = 0; j < n; j++) p[j] += v[i - first] * q[(size_t)i * (size_t)n + (size_t)j];
    for (int i = first; i < n; i++)
        for (int j = 0; j < n; j++) q[(size_t)i * (size_t)n + (size_t)j] -= tau * v[i - first] * p[j];
}

/* a = q^T T q with T tridiagonal: diagonal d [n], e [n - 1] beside it. a is spoilt; p [n] scratch. */
static void tridiagonal(double *a, double *q, double *d, double *e, double *p, int n) {
    memset(q, 0, sizeof *q * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) q[(size_t)i * (size_t)n + (size_t)i] = 1;
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * (size_t)n, tau;
        d[k] = row[k];
        if (k == n - 1) break;
        double *v = row + k + 1; /* the row is not needed any more */
        e[k] = reflection(v, n - k - 1, &tau);
        if (tau == 0) continue;
        reflect_both(row + n + k + 1, n - k - 1, n, v, tau, p);
        reflect_rows(q, n, k + 1, v, tau, p);
    }
}

static void rotate_rows(double *lower, double *upper, double c, double s, int n) {
    for (int k = 0; k < n; k++) {
        const double x = lower[k], y = upper[k];
        upper[k] = s * x + c * y, lower[k] = c * x - s * y;
    }
}

/* One implicit QL step on the unreduced block [l, m]. */
static void ql_step(double *d, double *e, double *q, int l, int m, int n) {
    double g = (d[l + 1] - d[l]) / (2 * e[l]), r = sqrt(g * g + 1), s = 1, c = 1, p = 0;
    g = d[m] - d[l] + e[l] / (g + copysign(r, g));
    for (int i = m - 1; i >= l; i--) {
        const double f = s * e[i], b = c * e[i];
        r = sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) { /* the block falls apart here */
            d[i + 1] -= p;
            e[m] = 0;
            return;
        }
        s = f / r, c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate_rows(q + (size_t)i * (size_t)n, q + (size_t)(i + 1) * (size_t)n, c, s, n);
    }
    d[l] -= p, e[l] = g, e[m] = 0;
}

static bool diagonalise(double *d, double *e, double *q, int n) {
    for (int l = 0; l < n; l++)
        for (int step = 0;; step++) {
            int m = l;
            while (m < n - 1 && !(fabs(e[m]) <= DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])) + DBL_MIN)) m++;
            if (m == l) break;
            if (step == MAX_STEPS) return false;
            ql_step(d, e, q, l, m, n);
        }
    return true;
}

static void sort_rows(double *w, double *q, int n) {
    for (int i = 0; i < n; i++) {
        int least = i;
        for (int j = i + 1; j < n; j++)
            if (w[j] < w[least]) least = j;
        if (least == i) continue;
        const double t = w[i];
        w[i] = w[least], w[least] = t;
        double *x = q + (size_t)i * (size_t)n, *y = q + (size_t)least * (size_t)n;
        for (int k = 0; k < n; k++) {
            const double z = x[k];
            x[k] = y[k], y[k] = z;
        }
    }
}

ingot_status ingot_eigen(double *a, double *w, int n) {
    const size_t nn = (size_t)n * (size_t)n;
    double largest = 0;
    for (size_t i = 0; i < nn; i++) {
        if (!isfinite(a[i])) return ingot_fail(INGOT_E_INVALID, "element %zu of a matrix of order %d is not finite", i, n);
        largest = fmax(largest, fabs(a[i]));
    }
    double *q = ingot_alloc_array(nn + 2 * (size_t)n, sizeof *q, INGOT_MEM_SCRATCH);
    if (!q) return ingot_fail(INGOT_E_NOMEM, "no memory for the eigenvectors of a matrix of order %d", n);
    double *e = q + nn, *p = e + n;
    if (largest == 0) largest = 1;
    for (size_t i = 0; i < nn; i++) a[i] /= largest; /* squares stay far from overflow and underflow */
    tridiagonal(a, q, w, e, p, n);
    const bool ok = diagonalise(w, e, q, n);
    if (ok) sort_rows(w, q, n);
    memcpy(a, q, sizeof *a * nn);
    for (int i = 0; i < n; i++) w[i] *= largest;
    ingot_dealloc(q);
    return ok ? INGOT_OK : ingot_fail(INGOT_E_INVALID, "the eigenvalues of a matrix of order %d were not found in %d steps", n, MAX_STEPS);
}
