/* whiten: a calibrated matrix per layer and KV head. With A the first matrix of the array and B the second, B = A^-T: what is stored is x A, queries
 * become q B, and x = y B^T. A is made so that the error of the scores (of the outputs, for values) that a codec with white error causes is least
 * (calibration/derive.h). Products with the transposed matrix are dot products, at two thirds of the speed; they serve outputs, once per token and head.
 * Source: the form of WUSH, arXiv 2512.00956. */
#include "../base/hadamard.h"
#include "row_matrix.h"
#include "transform.h"

static const float *second(const float *cal, int dim) { return cal + (size_t)dim * (size_t)dim; }

static void forward(const float *cal, float *y, const float *x, int dim) { ingot_row_times(y, x, cal, dim); }
static void query(const float *cal, float *y, const float *q, int dim) { ingot_row_times(y, q, second(cal, dim), dim); }
static void inverse(const float *cal, float *y, const float *x, int dim) { ingot_row_times_transposed(y, x, second(cal, dim), dim); }

static const char *check(int dim) {
    const char *why = ingot_row_matrix_check(dim);
    return why || ingot_hadamard_exists(dim) ? why : "the head size must be 2^k times up to two factors 12, 20 or 28";
}

const ingot_transform ingot_transform_whiten = {
    .name = "whiten", .description = "a calibrated matrix per head that spreads a code's error where queries (or outputs) notice it least",
    .source = "arXiv 2512.00956",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_WHITEN, .check = check, .forward = forward, .query = query, .inverse = inverse,
};
