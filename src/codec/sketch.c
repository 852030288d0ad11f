#include "sketch.h"
#include "../base/hadamard.h"
#include "../base/half.h"
#include "../base/rng.h"
#include <math.h>
#include <string.h>

/* y[j] = x[j], its sign changed where bit j of `minus` is set; eight at a time, without branches. */
static inline void flip8(float *y, const float *x, uint32_t minus) {
    static const uint32_t mask[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    for (int j = 0; j < 8; j++) y[j] = ingot_bits_f32(ingot_f32_bits(x[j]) ^ (minus & mask[j] ? 0x80000000u : 0u));
}

static void flip(float *x, int dim, uint64_t seed) {
    ingot_rng r = {seed};
    for (int i = 0; i < dim; i += 64) {
        const uint64_t signs = ingot_rng_next(&r);
        for (int j = 0; j < 64 && i + j < dim; j += 8) flip8(x + i + j, x + i + j, (uint32_t)(signs >> j) & 255);
    }
}

static void apply_block(const ingot_sketch *s, int block, float *y, const float *x) {
    const float length = sqrtf((float)s->dim);
    const uint64_t seed = s->seed + 2 * (uint64_t)block;
    memcpy(y, x, sizeof(float) * (size_t)s->dim);
    flip(y, s->dim, seed);
    ingot_hadamard(y, s->dim, false);
    flip(y, s->dim, seed + 1);
    ingot_hadamard(y, s->dim, false);
    for (int i = 0; i < s->dim; i++) y[i] *= length;
}

void ingot_sketch_apply(const ingot_sketch *s, float *y, const float *x) {
    if (!s->matrix) {
        for (int b = 0; b * s->dim < s->rows; b++) apply_block(s, b, y + b * s->dim, x);
        return;
    }
    for (int i = 0; i < s->rows; i++) {
        y[i] = 0.0f;
        for (int j = 0; j < s->dim; j++) y[i] += s->matrix[i * s->dim + j] * x[j];
    }
}

/* z [n] = +-length, plus where a bit is set; n is a multiple of 8. */
static void spread(float *z, const uint8_t *bits, int n, float length) {
    const float plus[8] = {length, length, length, length, length, length, length, length};
    for (int i = 0; i < n; i += 8) flip8(z + i, plus, ~(uint32_t)bits[i / 8]);
}

/* x = block^T x / length */
static void turn_back(const ingot_sketch *s, int block, float *x) {
    const uint64_t seed = s->seed + 2 * (uint64_t)block;
    ingot_hadamard(x, s->dim, true);
    flip(x, s->dim, seed + 1);
    ingot_hadamard(x, s->dim, true);
    flip(x, s->dim, seed);
}

static void back_block(const ingot_sketch *s, int block, float *x, const uint8_t *bits) {
    spread(x, bits + block * s->dim / 8, s->dim, sqrtf((float)s->dim));
    turn_back(s, block, x);
}

void ingot_sketch_transpose(const ingot_sketch *s, float *x, const float *y) {
    const float length = sqrtf((float)s->dim);
    for (int i = 0; i < s->dim; i++) x[i] = length * y[i];
    turn_back(s, 0, x);
}

void ingot_sketch_back(const ingot_sketch *s, float *x, const uint8_t *bits, int rows) {
    memset(x, 0, sizeof(float) * (size_t)s->dim);
    if (!s->matrix) {
        float y[INGOT_HADAMARD_MAX];
        for (int b = 0; b * s->dim < rows; b++) {
            back_block(s, b, y, bits);
            for (int j = 0; j < s->dim; j++) x[j] += y[j];
        }
        return;
    }
    for (int i = 0; i < rows; i += 8) {
        float z[8];
        spread(z, bits + i / 8, 8, 1.0f);
        for (int k = 0; k < 8; k++)
            for (int j = 0; j < s->dim; j++) x[j] += s->matrix[(i + k) * s->dim + j] * z[k];
    }
}

void ingot_sketch_bits(uint8_t *bits, const float *y, int rows) {
    for (int i = 0; i < rows; i += 8) {
        unsigned byte = 0;
        for (int j = 0; j < 8; j++) byte |= (unsigned)(y[i + j] > 0.0f) << j;
        bits[i / 8] = (uint8_t)byte;
    }
}

/* Eight sums side by side, in a fixed order: a compiler may keep them in registers without changing a bit of the result. */
float ingot_sketch_dot(const uint8_t *bits, const float *y, int rows) {
    float sum[8] = {0};
    for (int i = 0; i < rows; i += 8) {
        float signed_y[8];
        flip8(signed_y, y + i, ~(uint32_t)bits[i / 8]);
        for (int j = 0; j < 8; j++) sum[j] += signed_y[j];
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}
