/* For the tests of codecs whose blocks hold one token: one vector there and back, and the error on normal data. */
#ifndef TEST_CODEC_ROWS_H
#define TEST_CODEC_ROWS_H
#include "base/half.h"
#include "codec_forms.h"
#include "test.h"
#include <ingot/types.h>

enum { CODEC_ROW_BYTES = INGOT_MAX_HEAD_DIM * 3 };

/* The format of codec_fmt with another group (as it is, not clipped). */
static inline ingot_kv_fmt codec_row_fmt(const char *name, int dim, int group) {
    ingot_kv_fmt f = codec_fmt(name, dim, INGOT_SIDE_V);
    if (group) f.group = group;
    return f;
}

static inline void codec_row_encode(const ingot_kv_fmt *f, const float *x, uint8_t *row) { ingot_codec_get(f->codec)->encode(f, x, f->dim, 0, 1, row); }
static inline void codec_row_decode(const ingot_kv_fmt *f, const uint8_t *row, float *y) { ingot_codec_get(f->codec)->decode(f, row, y); }
static inline size_t codec_row_bytes(const ingot_kv_fmt *f) { return ingot_codec_get(f->codec)->block_bytes(f); }

static inline float half_at(const uint8_t *p) { return ingot_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

/* Code i of a stream of codes of `bits` bits, read bit by bit, least significant first. */
static inline int codec_bits_at(const uint8_t *codes, int bits, int i) {
    int code = 0;
    for (int b = 0; b < bits; b++) code |= (codes[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1) << b;
    return code;
}

/* Mean squared error over the mean square of normal numbers with a mean. */
static inline double codec_noise_error(const ingot_kv_fmt *f, int rows, double mean) {
    ingot_rng r = {99};
    float x[INGOT_MAX_HEAD_DIM], y[INGOT_MAX_HEAD_DIM];
    uint8_t row[CODEC_ROW_BYTES];
    double error = 0, square = 0;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < f->dim; j++) x[j] = (float)(ingot_rng_normal(&r) + mean);
        codec_row_encode(f, x, row);
        codec_row_decode(f, row, y);
        for (int j = 0; j < f->dim; j++) {
            const double n = (double)x[j] - mean;
            error += ((double)y[j] - (double)x[j]) * ((double)y[j] - (double)x[j]), square += n * n;
        }
    }
    return error / square;
}
#endif
