/* The signed orthonormal Hadamard transform y = H (s o x) / sqrt(dim), for dim = m * 2^k with m = 1, 12, 20 or 28. */
#include "hadamard.h"
#include <ingot/types.h>
#include <math.h>
#include <string.h>

/* Rows of the Paley constructions of order 12 (q = 11), 20 (q = 19) and 28 (second kind, q = 13); bit j set: entry j is -1.
 * Index a * 2^k + b: the factor of order m works on a, the Walsh-Hadamard factor on b. */
static const uint32_t rows12[12] = {
    0x0000000u, 0x0000475u, 0x00008e9u, 0x00001d3u, 0x00003a5u, 0x0000749u, 0x0000e91u, 0x0000d23u, 0x0000a47u, 0x000048fu,
    0x000091du, 0x000023bu};
static const uint32_t rows20[20] = {
    0x0000000u, 0x00615e5u, 0x00c2bc9u, 0x0085793u, 0x000af27u, 0x0015e4du, 0x002bc99u, 0x0057931u, 0x00af261u, 0x005e4c3u,
    0x00bc985u, 0x007930bu, 0x00f2615u, 0x00e4c2bu, 0x00c9857u, 0x00930afu, 0x002615fu, 0x004c2bdu, 0x0098579u, 0x0030af3u};
static const uint32_t rows28[28] = {
    0x0000002u, 0xaaaaaabu, 0x30ff0c8u, 0x9a55a6eu, 0xc3fc320u, 0x69569bau, 0x0ff0c8cu, 0xa55a6e6u, 0x3fc3230u, 0x9569b9au,
    0xff0c8c0u, 0x55a6e6au, 0xfc3230cu, 0x569b9a6u, 0xf0c8c3cu, 0x5a6e696u, 0xc3230fcu, 0x69b9a56u, 0x0c8c3fcu, 0xa6e6956u,
    0x3230ff0u, 0x9b9a55au, 0xc8c3fc0u, 0x6e6956au, 0x230ff0cu, 0xb9a55a6u, 0x8c3fc30u, 0xe69569au};

/* Sign of coordinate i: top bit of output i of splitmix64 with seed 42, 1 = minus (tested against base/rng.h).
 * Written out because rows are transformed at every step. */
static const uint64_t signs[INGOT_MAX_HEAD_DIM / 64] = {
    0x67831947fcd872a1u, 0x03a2a1d567d22ef6u, 0x9a95107cbef8f3d6u, 0x63fe483e793abff4u,
    0x825f3055eedfa2b5u, 0x13f289c613e64422u, 0x5cc293e2ec2aa92du, 0x19941b0ba9d3d12du};

/* Order of the odd factor's matrix; 0 when dim has no exact transform here. */
static int base_order(int dim) {
    int odd = dim, pow2 = 1;
    if (dim < 1 || dim > INGOT_MAX_HEAD_DIM) return 0;
    while (odd % 2 == 0) odd /= 2, pow2 *= 2;
    if (odd == 1) return 1;
    return (odd == 3 || odd == 5 || odd == 7) && pow2 >= 4 ? odd * 4 : 0;
}

static const uint32_t *base_rows(int m) { return m == 12 ? rows12 : m == 20 ? rows20 : rows28; }

static void walsh_hadamard(float *x, int n) {
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                const float a = x[j], b = x[j + h];
                x[j] = a + b, x[j + h] = a - b;
            }
}

/* x as a matrix [m][n]: the factor of order m (or its transpose) applied to the first index. */
static void apply_base(float *x, int m, int n, bool transpose) {
    float y[INGOT_MAX_HEAD_DIM];
    const uint32_t *rows = base_rows(m);
    memset(y, 0, sizeof(float) * (size_t)(m * n));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            const float sign = (transpose ? rows[j] >> i : rows[i] >> j) & 1 ? -1.0f : 1.0f;
            for (int b = 0; b < n; b++) y[i * n + b] += sign * x[j * n + b];
        }
    memcpy(x, y, sizeof(float) * (size_t)(m * n));
}

void ingot_hadamard(float *x, int dim, bool transpose) {
    const int m = base_order(dim), n = dim / m;
    const float norm = 1.0f / sqrtf((float)dim);
    for (int a = 0; a < m; a++) walsh_hadamard(x + a * n, n);
    if (m > 1) apply_base(x, m, n, transpose);
    for (int i = 0; i < dim; i++) x[i] *= norm;
}

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
    if (base_order(dim) == 0) return "the head size must be 2^k, or 12, 20 or 28 times 2^k, up to 512";
    return NULL;
}

const ingot_transform ingot_transform_hadamard = {
    .name = "hadamard", .description = "fixed random signs, then an orthonormal Hadamard matrix: spreads outlier channels",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_NONE, .check = check, .forward = forward, .inverse = inverse,
};
