/* Loops over rows of floats, made for each instruction set. All have the same bits on every machine. */
#ifndef INGOT_BASE_ROW_OPS_H
#define INGOT_BASE_ROW_OPS_H
#include <stdbool.h>
#include <stdint.h>

enum { INGOT_WALSH_LEAST = 16 };

typedef struct ingot_row_ops {
    /* Whether all x [n] are finite. */
    bool (*finite)(const float *x, int n);
    /* y [n] = the nearest half of each, as a float; beyond the largest that (65504). y may be x. */
    void (*round_halves)(float *y, const float *x, int n);
    /* y [n] = x [n] times the Walsh-Hadamard matrix in natural order, times `norm`. n = 2^k, INGOT_WALSH_LEAST or more; y may be x. flip_in, flip_out: NULL, or bit i set
     * where x[i] or y[i] changes its sign. Neighbours are added first: steps of 1, 2, 4, ... */
    void (*walsh)(float *y, const float *x, int n, const uint64_t *flip_in, const uint64_t *flip_out, float norm);
} ingot_row_ops;

/* Those of the level in use. */
const ingot_row_ops *ingot_row_ops_get(void);
extern const ingot_row_ops ingot_row_ops_plain, ingot_row_ops_avx2, ingot_row_ops_avx512;
#endif
