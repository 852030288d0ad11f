#include "hadamard.h"
#include "row_ops.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Rows of the Paley constructions of order 12 (q = 11), 20 (q = 19) and 28 (second kind, q = 13); bit j set: entry j is -1. */
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

/* dim = 2^k * order[0] * order[1], orders 1 where there are fewer factors. */
typedef struct shape {
    int pow2, order[2];
} shape;

static bool factor(int dim, shape *s) {
    int odd = dim, n = 0;
    *s = (shape){1, {1, 1}};
    if (dim < 1 || dim > INGOT_HADAMARD_MAX) return false;
    while (odd % 2 == 0) odd /= 2, s->pow2 *= 2;
    for (int p = 3; p <= 7; p += 2)
        while (odd % p == 0) {
            if (n == 2 || s->pow2 % 4) return false;
            odd /= p, s->pow2 /= 4, s->order[n++] = 4 * p;
        }
    return odd == 1;
}

bool ingot_hadamard_exists(int dim) {
    shape s;
    return factor(dim, &s);
}

/* Powers of two that are smaller than a register. */
static void walsh_short(float *x, int n) {
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                const float a = x[j], b = x[j + h];
                x[j] = a + b, x[j + h] = a - b;
            }
}

/* x as a matrix [m][n]: the factor of order m (or its transpose) applied to the first index. */
static void apply_factor(float *x, int m, int n, bool transpose) {
    float y[INGOT_HADAMARD_MAX];
    const uint32_t *rows = m == 12 ? rows12 : m == 20 ? rows20 : rows28;
    memset(y, 0, sizeof(float) * (size_t)(m * n));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            const float sign = (transpose ? rows[j] >> i : rows[i] >> j) & 1 ? -1.0f : 1.0f;
            for (int b = 0; b < n; b++) y[i * n + b] += sign * x[j * n + b];
        }
    memcpy(x, y, sizeof(float) * (size_t)(m * n));
}

void ingot_hadamard(float *x, int dim, bool transpose) {
    shape s;
    if (!factor(dim, &s)) return;
    const float norm = 1.0f / sqrtf((float)dim);
    if (s.pow2 == dim && dim >= INGOT_WALSH_LEAST) {
        ingot_row_ops_get()->walsh(x, x, dim, NULL, NULL, norm);
        return;
    }
    for (int i = 0; i < dim; i += s.pow2) {
        if (s.pow2 < INGOT_WALSH_LEAST) walsh_short(x + i, s.pow2);
        else ingot_row_ops_get()->walsh(x + i, x + i, s.pow2, NULL, NULL, 1.0f);
    }
    for (int f = 1, n = s.pow2; f >= 0; n *= s.order[f--])
        for (int i = 0; i < dim && s.order[f] > 1; i += n * s.order[f]) apply_factor(x + i, s.order[f], n, transpose);
    for (int i = 0; i < dim; i++) x[i] *= norm;
}
