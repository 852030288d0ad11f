/* The formulas of QJL with outlier channels, for any sketch: what the codec is made of and what worked examples are tested with. */
#ifndef INGOT_CODEC_QJL_H
#define INGOT_CODEC_QJL_H
#include "codec.h"
#include "sketch.h"
#include <ingot/types.h>

enum { INGOT_QJL_OUTLIERS = 8, INGOT_QJL_TOKENS = 32, INGOT_QJL_MAX_ROWS = 4 * INGOT_MAX_HEAD_DIM };

/* Both parts use leading rows of one matrix S with max(rows_in, rows_out) rows. */
typedef struct ingot_qjl {
    ingot_sketch s;
    int rows_in, rows_out;
    int n_outliers;                   /* at most INGOT_QJL_OUTLIERS */
    int outlier[INGOT_QJL_OUTLIERS]; /* channels of the block, ascending */
} ingot_qjl;

/* Where the parts of a codec's block lie, in bytes: norms of the inlier parts, then of the outlier parts [2][INGOT_QJL_TOKENS] f16; signs of the tokens. */
typedef struct ingot_qjl_layout {
    int index_bytes; /* of a channel number */
    size_t norms, bits_in, bits_out, bytes;
} ingot_qjl_layout;
ingot_qjl_layout ingot_qjl_layout_of(const ingot_kv_fmt *f);
/* The sketch of a codec with the block's outlier channels. Any bytes give channels below dim. */
ingot_qjl ingot_qjl_open(const ingot_kv_fmt *f, const ingot_qjl_layout *l, const uint8_t *block);

/* The q->n_outliers channels with the largest energy, the lower one where two are equal. energy [dim] is used up. */
void ingot_qjl_choose(ingot_qjl *q, double *energy);
/* One key [dim]: bits of its parts, and their norms. */
void ingot_qjl_encode(const ingot_qjl *q, const float *key, uint8_t *bits_in, uint8_t *bits_out, double *norm_in, double *norm_out);
/* key [dim] = sqrt(pi / 2) (norm_in / rows_in S^T z_in on the inlier channels, norm_out / rows_out S^T z_out on the outlier channels). */
void ingot_qjl_decode(const ingot_qjl *q, float *key, const uint8_t *bits_in, const uint8_t *bits_out, float norm_in, float norm_out);
/* For a block: what its signs are multiplied with. sq = S query; in [rows_in] = sq less the outlier channels' share, out [rows_out] that share. */
void ingot_qjl_split(const ingot_qjl *q, const float *query, const float *sq, float *in, float *out);
/* <query, decoded key> */
float ingot_qjl_score(const ingot_qjl *q, const float *in, const float *out, const uint8_t *bits_in, const uint8_t *bits_out, float norm_in, float norm_out);
#endif
