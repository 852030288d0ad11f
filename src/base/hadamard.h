/* Orthonormal Hadamard matrices, applied without being written out. */
#ifndef INGOT_BASE_HADAMARD_H
#define INGOT_BASE_HADAMARD_H
#include <stdbool.h>

#define INGOT_HADAMARD_MAX 1024

/* Whether there is a matrix of this order here: up to INGOT_HADAMARD_MAX, 2^k times up to two factors 12, 20, 28 (144 = 12 x 12, 576 = 12 x 12 x 4). */
bool ingot_hadamard_exists(int dim);

/* In place x = H x / sqrt(dim), or H^T x / sqrt(dim). x [dim]; the matrix must exist. Additions in a fixed order: the same bits on every machine.
 * H is a Kronecker product; with dim = m 2^k and index a 2^k + b, the factor of order m (Paley's constructions) works on a and the Walsh-Hadamard
 * factor, in natural order, on b. Two factors of orders m and m' are nested likewise, the first outermost. */
void ingot_hadamard(float *x, int dim, bool transpose);
#endif
