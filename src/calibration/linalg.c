#include "linalg.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

/* Only the upper triangle is read; its row k becomes column k of L. */
bool ingot_cholesky(double *a, int n) {
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * (size_t)n;
        if (!(row[k] > 0) || !isfinite(row[k])) return false;
        const double root = sqrt(row[k]);
        for (int j = k; j < n; j++) row[j] /= root;
        for (int i = k + 1; i < n; i++) {
            double *rest = a + (size_t)i * (size_t)n;
            const double f = row[i];
            for (int j = i; j < n; j++) rest[j] -= f * row[j];
        }
    }
    ingot_transpose(a, n);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) a[(size_t)i * (size_t)n + (size_t)j] = 0;
    return true;
}

void ingot_solve_lower_transposed(double *x, const double *l, int n) {
    for (int i = n - 1; i >= 0; i--) {
        double *xi = x + (size_t)i * (size_t)n;
        for (int k = i + 1; k < n; k++) {
            const double *xk = x + (size_t)k * (size_t)n, f = l[(size_t)k * (size_t)n + (size_t)i];
            for (int j = 0; j < n; j++) xi[j] -= f * xk[j];
        }
        const double diagonal = l[(size_t)i * (size_t)n + (size_t)i];
        for (int j = 0; j < n; j++) xi[j] /= diagonal;
    }
}

/* c += f * b over one row. */
static void add_row(double *c, double f, const double *b, int n) {
    for (int j = 0; j < n; j++) c[j] += f * b[j];
}

void ingot_multiply(double *c, const double *a, const double *b, int n) {
    memset(c, 0, sizeof *c * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) add_row(c + (size_t)i * (size_t)n, a[(size_t)i * (size_t)n + (size_t)k], b + (size_t)k * (size_t)n, n);
}

void ingot_multiply_transposed(double *c, const double *a, const double *b, int n) {
    memset(c, 0, sizeof *c * (size_t)n * (size_t)n);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) add_row(c + (size_t)i * (size_t)n, a[(size_t)k * (size_t)n + (size_t)i], b + (size_t)k * (size_t)n, n);
}

void ingot_transpose(double *a, int n) {
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double *p = a + (size_t)i * (size_t)n + (size_t)j, *q = a + (size_t)j * (size_t)n + (size_t)i;
            const double t = *p;
            *p = *q, *q = t;
        }
}
