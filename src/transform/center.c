/* center: the mean of a sequence's first keys is subtracted from all its keys (by the cache, which alone knows them). A softmax does not change when
 * every score of a query moves by the same amount, so nothing has to be added back; a vector's norm is then spent on what tells keys apart.
 * Source: the smoothing of K of SageAttention, arXiv 2410.02367. */
#include "transform.h"

static const char *check(int dim) {
    (void)dim;
    return NULL;
}

const ingot_transform ingot_transform_center = {
    .name = "center", .description = "subtracts the mean of the sequence's first keys, which no softmax notices",
    .source = "arXiv 2410.02367",
    .stage = INGOT_STAGE_CENTER, .sides = 1, .needs = INGOT_CAL_NONE, .running_mean = true, .check = check,
};
