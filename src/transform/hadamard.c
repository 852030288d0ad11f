/* The signed orthonormal Hadamard transform y = H (s o x) / sqrt(dim). */
#include "../base/hadamard.h"
#include "transform.h"
#include <ingot/types.h>
#include <string.h>

/* Sign of coordinate i: top bit of output i of splitmix64 with seed 42, 1 = minus (tested against base/rng.h).
 * Written out because rows are transformed at every step. */
static const uint64_t signs[INGOT_MAX_HEAD_DIM / 64] = {
    0x67831947fcd872a1u, 0x03a2a1d567d22ef6u, 0x9a95107cbef8f3d6u, 0x63fe483e793abff4u,
    0x825f3055eedfa2b5u, 0x13f289c613e64422u, 0x5cc293e2ec2aa92du, 0x19941b0ba9d3d12du};

static void flip(float *y, const float *x, int dim) {
    for (int i = 0; i < dim; i++) y[i] = signs[i / 64] >> (i % 64) & 1 ? -x[i] : x[i];
}

static void forward(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    flip(y, x, dim);
    ingot_hadamard(y, dim, false);
}

static void inverse(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    memmove(y, x, sizeof(float) * (size_t)dim);
    ingot_hadamard(y, dim, true);
    flip(y, y, dim);
}

static const char *check(int dim) {
    if (dim > INGOT_MAX_HEAD_DIM || !ingot_hadamard_exists(dim)) return "the head size must be 2^k times at most two of 12, 20 and 28, up to 512";
    return NULL;
}

const ingot_transform ingot_transform_hadamard = {
    .name = "hadamard", .description = "fixed random signs, then an orthonormal Hadamard matrix: spreads outlier channels",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_NONE, .check = check, .forward = forward, .inverse = inverse,
};
