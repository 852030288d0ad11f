#include "transform.h"
#include <string.h>

#define TRANSFORM(id, desc) extern const ingot_transform desc;
#include "transforms.def"
#undef TRANSFORM

static const ingot_transform *const transforms[INGOT_N_TRANSFORMS] = {
#define TRANSFORM(id, desc) &desc,
#include "transforms.def"
#undef TRANSFORM
};

const ingot_transform *ingot_transform_get(int id) {
    return id >= 0 && id < INGOT_N_TRANSFORMS ? transforms[id] : NULL;
}

int ingot_transform_find(const char *name) {
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++)
        if (!strcmp(transforms[i]->name, name)) return i;
    return -1;
}
