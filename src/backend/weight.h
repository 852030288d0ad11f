/* The weights part of the back end interface: matrices in the model file's number formats, prepared for a back end. */
#ifndef INGOT_BACKEND_WEIGHT_H
#define INGOT_BACKEND_WEIGHT_H
#include <ingot/status.h>
#include <ingot/types.h>

/* A prepared matrix [n_out][n_in], opaque to all but its back end. */
typedef struct ingot_weight ingot_weight;

/* Int8 activations (the definition is in backend/ref/ref_weight.h) are used with quantised matrices only: matrices of F32, F16 and
 * BF16 are multiplied in float in both modes. */

/* y[t * y_stride + i] = sum_j W[i][j] x[t][j] (+ bias[i] when not NULL), i < n_out. */
typedef struct ingot_linear_out {
    const ingot_weight *w;
    const float *bias; /* [n_out] or NULL */
    float *y;
    ptrdiff_t y_stride;
} ingot_linear_out;

/* Up to 3 products that share their input. Called by all threads of a team. */
typedef struct ingot_linear_args {
    ingot_linear_out out[3];
    int n_out;
    const float *x; /* [n_tokens][x_stride] */
    ptrdiff_t x_stride;
    int n_tokens, n_in;
    bool int8_activations; /* else float activations against dequantised weights */
    void *scratch;         /* shared by the team, linear_scratch_bytes() */
} ingot_linear_args;
#endif
