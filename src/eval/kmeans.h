/* k-means: codebooks of short vectors, the same for the same input on every machine. */
#ifndef INGOT_EVAL_KMEANS_H
#define INGOT_EVAL_KMEANS_H
#include <ingot/status.h>
#include <ingot/types.h>

enum { INGOT_KMEANS_MAX_DIM = 16, INGOT_KMEANS_MAX_K = 4096 };

/* centroids [k][dim] for the points [n][dim]; *error: mean squared distance of a point to its centroid (NULL allowed).
 * Starts from cells that are split in two, the one with the largest error first; then Lloyd's iterations (at most 30, ended by a gain below 0.1 %), where a
 * point looks at the centroids around its old one only: all of them up to k = 64, else its 48 to 64 nearest.
 * Fewer different points than k: the rest of the centroids repeats the first. Errors: INGOT_E_INVALID (sizes), INGOT_E_NOMEM. */
ingot_status ingot_kmeans(float *centroids, double *error, const float *points, size_t n, int dim, int k);
#endif
