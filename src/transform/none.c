/* none: vectors are encoded as they are. */
#include "transform.h"

static const char *check(int dim) {
    (void)dim;
    return NULL;
}

const ingot_transform ingot_transform_none = {
    .name = "none", .description = "vectors are encoded as they are",
    .stage = INGOT_STAGE_ROTATE, .sides = 3, .needs = INGOT_CAL_NONE, .check = check,
};
