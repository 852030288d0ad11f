/* Sign sketches: z = sign(S x) for a fixed matrix S [rows][dim] whose rows have norm sqrt(dim). sqrt(pi / 2) / rows * |x| <S q, z> estimates <q, x>
 * (Zandieh, Daliri, Han: QJL, arXiv 2406.03482). */
#ifndef INGOT_CODEC_SKETCH_H
#define INGOT_CODEC_SKETCH_H
#include <stdint.h>

#define INGOT_SQRT_HALF_PI 1.2533141373155003f

/* rows / dim blocks of dim rows, each sqrt(dim) times an orthogonal matrix: block b is sqrt(dim) H D(seed + 2b + 1) H D(seed + 2b), with H the
 * orthonormal Hadamard matrix of base/hadamard.h and D(s) signs: bit i mod 64 of output i / 64 of splitmix64 seeded with s, 1 = minus.
 * With `matrix`, these rows instead: what formulas are tested with. */
typedef struct ingot_sketch {
    int rows, dim;
    uint64_t seed;
    const float *matrix; /* [rows][dim]; NULL: structured, rows a multiple of dim and dim the order of a Hadamard matrix */
} ingot_sketch;

/* y [rows] = S x [dim] */
void ingot_sketch_apply(const ingot_sketch *s, float *y, const float *x);
/* x [dim] = S[0, rows)^T z, for z = +-1 from bits (1 = plus), rows at most s->rows (structured: whole blocks) */
void ingot_sketch_back(const ingot_sketch *s, float *x, const uint8_t *bits, int rows);
/* x [dim] = S^T y [dim], for a structured sketch of one block; x may be y */
void ingot_sketch_transpose(const ingot_sketch *s, float *x, const float *y);
/* bits [rows / 8], bit i = y[i] > 0, least significant first; rows is a multiple of 8 */
void ingot_sketch_bits(uint8_t *bits, const float *y, int rows);
/* Sum of +-y[i], plus where bit i is set; rows is a multiple of 8 */
float ingot_sketch_dot(const uint8_t *bits, const float *y, int rows);
#endif
