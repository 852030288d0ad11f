/* What calibrations are made of, from moments of keys, queries and values. All in double. */
#ifndef INGOT_CALIBRATION_DERIVE_H
#define INGOT_CALIBRATION_DERIVE_H
#include <ingot/status.h>

/* The matrices of the transform "whiten" for row vectors: a [dim][dim] and b = a^-T, each rounded to float.
 *   m [dim][dim]: covariance of what is stored (keys or values less their mean)
 *   c [dim][dim]: what errors cost: the mean of q q^T over the queries of the group's heads, not centred (keys), or the sum over these heads of
 *                 W^T W, with W the head's columns of the output projection (values)
 * With C = c + 1e-2 tr(c)/dim I and M = m + 1e-6 tr(m)/dim I, C = L L^T, L^T M L = U diag(lam) U^T and R the signed Hadamard matrix:
 * a = s L U diag(lam^-1/4) R. A code whose error is white and in proportion to a vector's length costs tr(a^T M a) tr(b^T C b), which is least
 * for this a, (sum of lam^1/2)^2. s makes tr(a^T M a) = tr(M), so that stored vectors keep their size.
 * Source: the form of WUSH (arXiv 2512.00956); the factors that damp are ours.
 * Errors: INGOT_E_INVALID (no Hadamard matrix of this order, values that are not finite, m or c zero), INGOT_E_NOMEM. */
ingot_status ingot_whiten_make(float *a, float *b, const double *m, const double *c, int dim);

/* Direction u [dim] (unit length) of one query head: the first right singular vector of its queries, with the sign for which the mean query's
 * projection is positive. second [dim][dim]: mean of q q^T, not centred; mean [dim]: of the queries.
 * The filter of a KV head is the mean of its query heads' directions. Source: Q-Filters, arXiv 2503.02812, section 3.
 * Errors: INGOT_E_INVALID (not finite, second zero), INGOT_E_NOMEM. */
ingot_status ingot_filter_direction(double *u, const double *second, const double *mean, int dim);
#endif
