/* The transforms of one side of one KV head, applied one after the other. */
#ifndef INGOT_TRANSFORM_CHAIN_H
#define INGOT_TRANSFORM_CHAIN_H
#include "transform.h"

/* `cal` of each step is borrowed. A zeroed chain with a dim is the identity. */
typedef struct ingot_transform_chain {
    int n, dim;
    const ingot_transform *step[INGOT_N_STAGES];
    const float *cal[INGOT_N_STAGES];
} ingot_transform_chain;

/* y [dim], x [dim]; y may be x. */
void ingot_chain_forward(const ingot_transform_chain *c, float *y, const float *x);
void ingot_chain_query(const ingot_transform_chain *c, float *y, const float *q);
void ingot_chain_inverse(const ingot_transform_chain *c, float *y, const float *x);
#endif
