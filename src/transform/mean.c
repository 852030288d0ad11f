/* mean: the calibrated mean of a head's keys is subtracted. Scores of a query all move by <q, mean>, which the softmax drops.
 * Source: the smoothing of K of SageAttention, arXiv 2410.02367, with a mean that is known beforehand. */
#include "transform.h"
#include <string.h>

static void forward(const float *cal, float *y, const float *x, int dim) {
    for (int i = 0; i < dim; i++) y[i] = x[i] - cal[i];
}

static void query(const float *cal, float *y, const float *q, int dim) {
    (void)cal;
    memmove(y, q, sizeof(float) * (size_t)dim);
}

static void inverse(const float *cal, float *y, const float *x, int dim) {
    for (int i = 0; i < dim; i++) y[i] = x[i] + cal[i];
}

static const char *check(int dim) {
    (void)dim;
    return NULL;
}

const ingot_transform ingot_transform_mean = {
    .name = "mean", .description = "subtracts the calibrated mean of the keys, which no softmax notices",
    .source = "arXiv 2410.02367",
    .stage = INGOT_STAGE_CENTER, .sides = 1, .needs = INGOT_CAL_MEAN, .check = check,
    .forward = forward, .query = query, .inverse = inverse,
};
