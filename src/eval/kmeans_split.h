/* The start of k-means: a set of points is cut into cells, always the one with the largest squared error, across its widest axis at the mean. */
#ifndef INGOT_EVAL_KMEANS_SPLIT_H
#define INGOT_EVAL_KMEANS_SPLIT_H
#include "kmeans.h"

/* Points order[begin .. end). */
typedef struct kmeans_cell {
    size_t begin, end;
    double error; /* sum of squared distances to the mean; 0 when it cannot be cut */
    int axis;
    float at;     /* the mean on that axis */
} kmeans_cell;

/* Fills cells [k] and permutes order [n], which holds 0 .. n - 1; returns how many cells there are (fewer than k when points are equal). */
int ingot_kmeans_split(kmeans_cell *cells, int k, uint32_t *order, const float *points, size_t n, int dim);
#endif
