/* Transforms: what is done to a vector before it is encoded. A transform is an affine, invertible map; queries go through its inverse transpose, so that
 * <query(q), forward(k)> = <q, k> up to a constant per query (which the softmax drops), and a sum of values with weights that add up to 1
 * needs one inverse. One file per transform, one line in transforms.def. */
#ifndef INGOT_TRANSFORM_H
#define INGOT_TRANSFORM_H
#include <ingot/calibration.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ingot_transform_id {
#define TRANSFORM(id, desc) INGOT_TRANSFORM_##id,
#include "transforms.def"
#undef TRANSFORM
    INGOT_N_TRANSFORMS
} ingot_transform_id;

/* Transforms of one side are applied in the order of their stages, at most one of each. */
typedef enum ingot_transform_stage { INGOT_STAGE_CENTER, INGOT_STAGE_SCALE, INGOT_STAGE_ROTATE, INGOT_N_STAGES } ingot_transform_stage;

typedef struct ingot_transform {
    const char *name, *description;
    const char *source;   /* where it comes from, such as "arXiv 2402.02750"; NULL when there is nothing to cite */
    ingot_transform_stage stage;
    unsigned sides; /* bit 0 K, bit 1 V */
    int needs;      /* enum ingot_cal_kind, INGOT_CAL_NONE for most; its array is `cal` below */
    /* The mean of the sequence's first keys is subtracted by the cache, in the stored frame; the functions are NULL. */
    bool running_mean;
    /* NULL when vectors of dim elements can be transformed, else the reason in a few words. */
    const char *(*check)(int dim);
    /* All: y [dim], x [dim], y may be x. NULL: the identity.
     * forward: what is stored. query: what the query becomes (NULL where it is the same as forward). inverse: undoes forward. */
    void (*forward)(const float *cal, float *y, const float *x, int dim);
    void (*query)(const float *cal, float *y, const float *q, int dim);
    void (*inverse)(const float *cal, float *y, const float *x, int dim);
} ingot_transform;

const ingot_transform *ingot_transform_get(int id); /* NULL when out of range */
int ingot_transform_find(const char *name);         /* -1 when unknown */
#endif
