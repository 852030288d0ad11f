/* The signed orthonormal Hadamard transform, the one rotation of the project: y = H (s o x) / sqrt(dim). */
#ifndef INGOT_BASE_HADAMARD_SIGNED_H
#define INGOT_BASE_HADAMARD_SIGNED_H

/* y [dim], x [dim], y may be x; the matrix of order dim must exist (base/hadamard.h). Sign s_i is minus where the top bit of output i of splitmix64 with
 * seed 42 is set. The same bits on every machine. */
void ingot_hadamard_signed(float *y, const float *x, int dim);
/* Undoes it. */
void ingot_hadamard_signed_inverse(float *y, const float *x, int dim);
#endif
