#include "hadamard_signed.h"
#include "hadamard.h"
#include "row_ops.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bit i: sign of coordinate i, 1 = minus (tested against base/rng.h). Written out because rows are transformed at every step. */
static const uint64_t signs[INGOT_HADAMARD_MAX / 64] = {
    0x67831947fcd872a1u, 0x03a2a1d567d22ef6u, 0x9a95107cbef8f3d6u, 0x63fe483e793abff4u,
    0x825f3055eedfa2b5u, 0x13f289c613e64422u, 0x5cc293e2ec2aa92du, 0x19941b0ba9d3d12du,
    0x192618590b8a14a5u, 0x6f03d6534b900a74u, 0xb844e9027ac2bf1bu, 0x859081634c57a0bbu,
    0x9c4dbaa80f23a4c1u, 0xb24be5e4509b8c5eu, 0xd2ca48206e756030u, 0xf3c42e0a71c284d3u};

static void flip(float *y, const float *x, int dim) {
    for (int i = 0; i < dim; i++) y[i] = signs[i / 64] >> (i % 64) & 1 ? -x[i] : x[i];
}

/* Lengths that are done in one go, signs included. */
static bool is_power(int dim) { return dim >= INGOT_WALSH_LEAST && dim <= INGOT_HADAMARD_MAX && (dim & (dim - 1)) == 0; }

void ingot_hadamard_signed(float *y, const float *x, int dim) {
    if (is_power(dim)) {
        ingot_row_ops_get()->walsh(y, x, dim, signs, NULL, 1.0f / sqrtf((float)dim));
        return;
    }
    flip(y, x, dim);
    ingot_hadamard(y, dim, false);
}

void ingot_hadamard_signed_inverse(float *y, const float *x, int dim) {
    if (is_power(dim)) {
        ingot_row_ops_get()->walsh(y, x, dim, NULL, signs, 1.0f / sqrtf((float)dim));
        return;
    }
    memmove(y, x, sizeof(float) * (size_t)dim);
    ingot_hadamard(y, dim, true);
    flip(y, y, dim);
}
