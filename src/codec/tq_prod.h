/* TurboQuant Prod without the descriptors: for the tests, whose vectors have other sign matrices and lengths. */
#ifndef INGOT_TQ_PROD_H
#define INGOT_TQ_PROD_H
#include "tq_common.h"
#include <ingot/types.h>
#include <stdbool.h>

enum { INGOT_TQ_SIGN_WORDS = INGOT_MAX_HEAD_DIM / 64 };

/* An orthogonal n x n matrix Q: `rounds` times signs, then an orthonormal Hadamard matrix. Bit i % 64 of minus[round][i / 64]: channel i changes its sign.
 * The paper's S is sqrt(n) Q. */
typedef struct ingot_tq_sketch {
    int rounds;
    const uint64_t (*minus)[INGOT_TQ_SIGN_WORDS];
} ingot_tq_sketch;
extern const ingot_tq_sketch ingot_tq_sketch_own; /* that of the codecs */

/* In place x [n] = Q x, or Q^T x. */
void ingot_tq_sketch_apply(const ingot_tq_sketch *sketch, float *x, int n, bool transpose);

/* `book` codes the vector, one more bit a channel its residual. Row: see tq_prod.c. */
size_t ingot_tq_prod_bytes(const ingot_tq_book *book, int n);
void ingot_tq_prod_encode(const ingot_tq_book *book, const ingot_tq_sketch *sketch, const float *x, int n, uint8_t *row);
void ingot_tq_prod_decode(const ingot_tq_book *book, const ingot_tq_sketch *sketch, const uint8_t *row, int n, float *x);
/* prepared [2][n] = q, Q q. */
void ingot_tq_prod_prepare(const ingot_tq_sketch *sketch, const float *q, int n, float *prepared);
float ingot_tq_prod_score(const ingot_tq_book *book, const float *prepared, const uint8_t *row, int n);
#endif
