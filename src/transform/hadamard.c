/* The signed orthonormal Hadamard transform y = H (s o x) / sqrt(dim) over the whole vector.
 * Source: QuaRot, arXiv 2404.00456, which rotates keys and values of the cache so. */
#include "../base/hadamard.h"
#include "../base/hadamard_signed.h"
#include "transform.h"

static void forward(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    ingot_hadamard_signed(y, x, dim);
}

static void inverse(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    ingot_hadamard_signed_inverse(y, x, dim);
}

static const char *check(int dim) {
    return ingot_hadamard_exists(dim) ? NULL : "the head size must be 2^k times up to two factors 12, 20 or 28";
}

const ingot_transform ingot_transform_hadamard = {
    .name = "hadamard", .description = "fixed random signs, then an orthonormal Hadamard matrix: spreads outlier channels",
    .source = "arXiv 2404.00456",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_NONE, .check = check, .forward = forward, .inverse = inverse,
};
