/* From the moments of one KV head to its arrays of a calibration. */
#ifndef INGOT_EVAL_CALIBRATE_DERIVE_H
#define INGOT_EVAL_CALIBRATE_DERIVE_H
#include "calibrate_stats.h"
#include <ingot/calibration.h>

/* The arrays of one KV head; [2]: keys, values. NULL where there is none. */
typedef struct calibrate_arrays {
    float *mean[2], *outliers[2], *whiten[2];
    float *smooth, *filter; /* keys */
    double *positive;       /* [heads of the group] share of the sampled queries with a positive projection on their head's direction */
} calibrate_arrays;

/* output [v_dim][v_dim]: sum of W^T W over the group's heads. n_queries: samples for `positive`. Errors name layer and head. */
ingot_status ingot_calibrate_derive(calibrate_arrays *out, const calibrate_head *h, const double *output, int n_queries);
void ingot_calibrate_arrays_free(calibrate_arrays *a);
/* Adds all but the audit to a calibration. */
ingot_status ingot_calibrate_arrays_add(const calibrate_arrays *a, const calibrate_head *h, ingot_calibration_writer *w);
#endif
