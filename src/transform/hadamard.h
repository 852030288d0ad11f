/* The Hadamard transform without signs, for tests of its matrices. */
#ifndef INGOT_HADAMARD_H
#define INGOT_HADAMARD_H
#include "transform.h"
/* In place x = H x / sqrt(dim), or H^T; dim must pass the transform's check. */
void ingot_hadamard(float *x, int dim, bool transpose);
#endif
