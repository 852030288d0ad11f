/* Row vectors times square matrices. Sums are taken in a fixed order whatever the width of the machine's registers: the same bits everywhere. */
#ifndef INGOT_TRANSFORM_ROW_MATRIX_H
#define INGOT_TRANSFORM_ROW_MATRIX_H
#include <ingot/types.h>
#include <string.h>

enum { INGOT_ROW_LANES = 16 }; /* dim is a multiple of it */

/* y = x A, with A [dim][dim]; y may be x. Four rows of A at a time: a quarter of the traffic on y. */
static inline void ingot_row_times(float *y, const float *x, const float *a, int dim) {
    float t[INGOT_MAX_HEAD_DIM];
    memset(t, 0, sizeof(float) * (size_t)dim);
    for (int i = 0; i < dim; i += 4) {
        const float *a0 = a + (size_t)i * (size_t)dim, *a1 = a0 + dim, *a2 = a1 + dim, *a3 = a2 + dim;
        const float x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
        for (int j = 0; j < dim; j++) t[j] = t[j] + x0 * a0[j] + x1 * a1[j] + x2 * a2[j] + x3 * a3[j];
    }
    memcpy(y, t, sizeof(float) * (size_t)dim);
}

/* y = x A^T; y may be x. A dot product per row of A, summed in 16 lanes. */
static inline void ingot_row_times_transposed(float *y, const float *x, const float *a, int dim) {
    float t[INGOT_MAX_HEAD_DIM];
    for (int i = 0; i < dim; i++) {
        const float *row = a + (size_t)i * (size_t)dim;
        float lane[INGOT_ROW_LANES] = {0};
        for (int j = 0; j < dim; j += INGOT_ROW_LANES)
            for (int l = 0; l < INGOT_ROW_LANES; l++) lane[l] += x[j + l] * row[j + l];
        for (int n = INGOT_ROW_LANES / 2; n > 0; n /= 2)
            for (int l = 0; l < n; l++) lane[l] += lane[l + n];
        t[i] = lane[0];
    }
    memcpy(y, t, sizeof(float) * (size_t)dim);
}

static inline const char *ingot_row_matrix_check(int dim) {
    return dim > 0 && dim <= INGOT_MAX_HEAD_DIM && dim % INGOT_ROW_LANES == 0 ? NULL : "the head size must be a multiple of 16 up to 512";
}
#endif
