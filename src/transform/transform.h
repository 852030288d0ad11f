/* Transforms: what is done to a vector before it is encoded. All are orthogonal, so that a query that went through the
 * same transform gives the same scores, and a weighted sum of values needs one inverse. One file per transform, one line in transforms.def. */
#ifndef INGOT_TRANSFORM_H
#define INGOT_TRANSFORM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ingot_transform_id {
#define TRANSFORM(id, desc) INGOT_TRANSFORM_##id,
#include "transforms.def"
#undef TRANSFORM
    INGOT_N_TRANSFORMS
} ingot_transform_id;

typedef struct ingot_transform {
    const char *name, *description;
    /* NULL when vectors of dim elements can be transformed, else the reason in a few words. */
    const char *(*check)(int dim);
    /* y [dim] = R x, y [dim] = R^T x; y may be x. NULL for the identity. */
    void (*forward)(float *y, const float *x, int dim);
    void (*inverse)(float *y, const float *x, int dim);
} ingot_transform;

const ingot_transform *ingot_transform_get(int id); /* NULL when out of range */
int ingot_transform_find(const char *name);         /* -1 when unknown */
#endif
