/* Random calibration arrays that a transform can work with. */
#ifndef INGOT_TEST_TRANSFORM_FIXTURE_H
#define INGOT_TEST_TRANSFORM_FIXTURE_H
#include "base/rng.h"
#include "transform/transform.h"

/* Whether vectors of dim elements can be transformed; then cal [2 * dim * dim] holds an array of the kind that t needs, else nothing.
 * The whitening pair is a scaling followed by the signed Hadamard matrix. */
bool fixture_cal(float *cal, const ingot_transform *t, int dim, ingot_rng *r);
#endif
