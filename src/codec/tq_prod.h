/* TurboQuant Prod without the descriptors: for the tests, whose examples have other sign matrices and lengths. */
#ifndef INGOT_TQ_PROD_H
#define INGOT_TQ_PROD_H
#include "sketch.h"
#include "tq_common.h"

/* The square sketch S that the codecs have for n channels. */
ingot_sketch ingot_tq_prod_sketch(int n);

/* `book` codes the vector, one more bit a channel (of a square sketch) its residual. n is a multiple of 8, at most INGOT_MAX_HEAD_DIM. Row: see tq_prod.c. */
size_t ingot_tq_prod_bytes(const ingot_tq_book *book, int n);
void ingot_tq_prod_encode(const ingot_tq_book *book, const ingot_sketch *sketch, const float *x, uint8_t *row);
void ingot_tq_prod_decode(const ingot_tq_book *book, const ingot_sketch *sketch, const uint8_t *row, float *x);
/* prepared [2][n] = q, S q / sqrt(n). */
void ingot_tq_prod_prepare(const ingot_sketch *sketch, const float *q, float *prepared);
float ingot_tq_prod_score(const ingot_tq_book *book, const float *prepared, const uint8_t *row, int n);
#endif
