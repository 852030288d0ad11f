/* split: a quarter of the channels, those that a calibration found largest, are put in front of the others, so that a codec can give them more bits;
 * each part is rotated by itself. Source: the settings of 2.5 and 3.5 bits of TurboQuant, arXiv 2504.19874 (which leaves open how channels are chosen). */
#include "../base/hadamard.h"
#include "../base/hadamard_signed.h"
#include "transform.h"
#include <ingot/types.h>
#include <string.h>

/* The channel that each place takes: the dim / 4 that the list names first, ascending, then the others, ascending. */
static void channels(int16_t *channel, const float *list, int dim) {
    bool large[INGOT_MAX_HEAD_DIM] = {false};
    int front = 0, back = dim / 4;
    for (int i = 0; i < dim / 4; i++) large[(int)list[i]] = true; /* a permutation of 0..dim - 1: calibrations are checked when opened */
    for (int c = 0; c < dim; c++) channel[large[c] ? front++ : back++] = (int16_t)c;
}

static void forward(const float *cal, float *y, const float *x, int dim) {
    int16_t channel[INGOT_MAX_HEAD_DIM];
    float t[INGOT_MAX_HEAD_DIM];
    const int n = dim / 4;
    channels(channel, cal, dim);
    for (int i = 0; i < dim; i++) t[i] = x[channel[i]];
    ingot_hadamard_signed(y, t, n);
    ingot_hadamard_signed(y + n, t + n, dim - n);
}

static void inverse(const float *cal, float *y, const float *x, int dim) {
    int16_t channel[INGOT_MAX_HEAD_DIM];
    float t[INGOT_MAX_HEAD_DIM];
    const int n = dim / 4;
    channels(channel, cal, dim);
    ingot_hadamard_signed_inverse(t, x, n);
    ingot_hadamard_signed_inverse(t + n, x + n, dim - n);
    for (int i = 0; i < dim; i++) y[channel[i]] = t[i];
}

static const char *check(int dim) {
    const bool fine = dim % 4 == 0 && dim <= INGOT_MAX_HEAD_DIM && ingot_hadamard_exists(dim / 4) && ingot_hadamard_exists(dim - dim / 4);
    return fine ? NULL : "a quarter of the head size and the rest must both have a Hadamard matrix, as in 64, 128, 192, 256";
}

const ingot_transform ingot_transform_split = {
    .name = "split", .description = "puts the calibrated largest quarter of the channels first and rotates both parts: for 2.5 and 3.5 bits",
    .source = "arXiv 2504.19874",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_OUTLIERS, .check = check, .forward = forward, .inverse = inverse,
};
