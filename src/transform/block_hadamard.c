/* The signed Hadamard transform on consecutive blocks of the largest power of two that divides the head size (80 = 5 x 16, 144 = 9 x 16).
 * Where `hadamard` exists it spreads an outlier over all channels instead of a block's, and is the better choice; this one is for head sizes that
 * have no full matrix (176), and for codecs with a scale per group whose groups are no larger than a block, so that an outlier's block alone pays for
 * it. With one scale per row the blocks' different norms widen the distribution that a fixed codebook was made for. */
#include "../base/hadamard_signed.h"
#include "transform.h"

static int block_of(int dim) { return dim & -dim; }

static void forward(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    for (int i = 0, n = block_of(dim); i < dim; i += n) ingot_hadamard_signed(y + i, x + i, n);
}

static void inverse(const float *cal, float *y, const float *x, int dim) {
    (void)cal;
    for (int i = 0, n = block_of(dim); i < dim; i += n) ingot_hadamard_signed_inverse(y + i, x + i, n);
}

static const char *check(int dim) { return dim > 0 && block_of(dim) >= 16 ? NULL : "the head size must be a multiple of 16"; }

const ingot_transform ingot_transform_block_hadamard = {
    .name = "block_hadamard", .description = "the signed Hadamard matrix on blocks of a power of two: for head sizes without a full one",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_NONE, .check = check, .forward = forward, .inverse = inverse,
};
