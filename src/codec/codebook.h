/* Codebooks of product quantisation, and the exact search for the nearest centroid in them. */
#ifndef INGOT_CODEC_CODEBOOK_H
#define INGOT_CODEC_CODEBOOK_H
#include "codec.h"

enum { INGOT_CODEBOOK_LEAF = 16, INGOT_CODEBOOK_MAX = 4096, INGOT_CODEBOOK_MAX_GROUP = 8 };

/* Code i of a row. With an even number of bits up to 12 it lies in two bytes, with 8 in one. */
static inline int ingot_codebook_code(const uint8_t *row, int i, int bits) {
    const uint8_t *p = row + i * bits / 8;
    const unsigned word = bits > 8 ? p[0] | (unsigned)p[1] << 8 : p[0];
    return (int)(word >> (i * bits % 8) & ((1u << bits) - 1));
}

/* Centroids in leaves of 16 that lie close together, each leaf with its bounding box. */
typedef struct ingot_codebook_search {
    int n_leaves, group;
    float reach;                  /* largest norm of a centroid */
    const float *middle, *extent; /* [group][n_leaves] of the boxes; extent is half the width */
    const float *columns;         /* [n_leaves][group][16] */
    const float *half_norm;       /* [n_leaves][16] */
    const uint16_t *index;        /* [n_leaves][16] rows of the codebook, ascending in each leaf */
} ingot_codebook_search;

/* The row of the codebook with the smallest half_norm - x[0] c[0] - x[1] c[1] ..., in float and in that order; the lowest of equal ones. That is the nearest
 * centroid to rounding, and the same as comparing with every row. x [group], magnitudes up to 65504. */
int ingot_codebook_nearest(const ingot_codebook_search *s, const float *x);
#endif
