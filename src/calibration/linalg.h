/* Dense linear algebra in double for calibrations: matrices are [n][n], row by row. Sums are taken in a fixed order. */
#ifndef INGOT_CALIBRATION_LINALG_H
#define INGOT_CALIBRATION_LINALG_H
#include <ingot/status.h>
#include <stdbool.h>

/* In place a = L with L L^T = a; the upper triangle becomes zero. False when a is not positive definite (a is spoilt then). */
bool ingot_cholesky(double *a, int n);
/* In place: X with L^T X = x. L lower triangular, its diagonal not zero; x [n][n]. */
void ingot_solve_lower_transposed(double *x, const double *l, int n);
/* c = a b, c = a^T b; c is none of the others. */
void ingot_multiply(double *c, const double *a, const double *b, int n);
void ingot_multiply_transposed(double *c, const double *a, const double *b, int n);
void ingot_transpose(double *a, int n);

/* In place: rows of `a` (symmetric) become orthonormal eigenvectors, w [n] the eigenvalues, ascending.
 * Errors: INGOT_E_INVALID (a value that is not finite, or no end of the iteration), INGOT_E_NOMEM. */
ingot_status ingot_eigen(double *a, double *w, int n);
#endif
