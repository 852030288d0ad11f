/* smooth: keys are divided by a calibrated factor per channel, queries multiplied by it, so that no channel dominates a sub-vector's distance.
 * Source: VecInfer, arXiv 2510.06175 (lambda = sqrt of the channel's largest magnitude). */
#include "transform.h"

static void forward(const float *cal, float *y, const float *x, int dim) {
    for (int i = 0; i < dim; i++) y[i] = x[i] / cal[i];
}

static void multiply(const float *cal, float *y, const float *x, int dim) {
    for (int i = 0; i < dim; i++) y[i] = x[i] * cal[i];
}

static const char *check(int dim) {
    (void)dim;
    return NULL;
}

const ingot_transform ingot_transform_smooth = {
    .name = "smooth", .description = "divides each key channel by a calibrated factor and multiplies the query's by it",
    .source = "arXiv 2510.06175",
    .stage = INGOT_STAGE_SCALE, .sides = 1, .needs = INGOT_CAL_SMOOTH, .check = check,
    .forward = forward, .query = multiply, .inverse = multiply,
};
