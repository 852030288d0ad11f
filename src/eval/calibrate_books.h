/* Codebooks of product quantisation: k-means on sampled keys and values, in the frame that the codec names. */
#ifndef INGOT_EVAL_CALIBRATE_BOOKS_H
#define INGOT_EVAL_CALIBRATE_BOOKS_H
#include "../codec/codec.h"
#include "calibrate_stats.h"

/* One kind of codebook: a codec that takes one, on one side. */
typedef struct calibrate_book_kind {
    const ingot_codec *codec;
    int group;
    bool value;
} calibrate_book_kind;

enum { CALIBRATE_MAX_BOOK_KINDS = 64 };
/* All kinds that the registry of codecs has use for; how many. */
int ingot_calibrate_book_kinds(calibrate_book_kind *out);

/* Sub-vectors that a book of this kind is trained on, of n sampled vectors of dim elements. */
int ingot_calibrate_book_vectors(const calibrate_book_kind *kind, int dim, int n);
/* Trains a codebook of a head from n sampled vectors. smooth [k_dim]: of the keys. *book [1 << bits][group] is NULL (and all is well) when the codec cannot
 * store such vectors, and when there are fewer sub-vectors than centroids; freed with ingot_dealloc. *error: mean squared error over mean square. */
ingot_status ingot_calibrate_book(float **book, double *error, const calibrate_book_kind *kind, const calibrate_head *h, const float *smooth, int n);
#endif
