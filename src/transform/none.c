/* none: vectors are encoded as they are. */
#include "transform.h"

static const char *check(int dim) {
    (void)dim;
    return NULL;
}

const ingot_transform ingot_transform_none = {.name = "none", .description = "vectors are encoded as they are", .check = check};
