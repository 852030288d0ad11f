/* TurboQuant Prod (arXiv 2504.19874, algorithm 2): codes of b - 1 bits, and a QJL bit a channel for the residual r (sketch.h), S being square.
 *     x^ = level * s + g / sqrt(n) * S^T z,   z = sign(S r),   g = sqrt(pi / 2) |r| / sqrt(n)
 * which is the paper's sqrt(pi / 2) / n * |r| * S^T z; g is the size of the sketch's part in a channel, which suits f16 better than |r|.
 * Row: f16 s, f16 g, codes of b - 1 bits, sign bits (1 = plus), both least significant bit first.
 *
 * Scores are unbiased on average over rotations. n times their variance, for |q| = |x| = 1, is (pi / 2 - 1) D(b - 1) with an orthogonal S:
 * .571 .207 .067 .0197 for 1 to 4 bits in all (pi / 2 D(b - 1) with the paper's Gaussian S). The plain code with the unbiased scale has
 * .567 .131 .035 .009, so Prod is here to be compared with, not to be used. */
#include "tq_prod.h"
#include "../base/hadamard.h"
#include "codec_util.h"
#include "pack.h"
#include <math.h>
#include <string.h>

ingot_sketch ingot_tq_prod_sketch(int n) { return (ingot_sketch){.rows = n, .dim = n, .seed = 43}; }

size_t ingot_tq_prod_bytes(const ingot_tq_book *book, int n) { return 4 + ingot_tq_code_bytes(n, book->bits) + ingot_tq_code_bytes(n, 1); }

static uint16_t half(double x) { return ingot_f32_to_f16((float)fmin(x, (double)INGOT_F16_MAX)); }

void ingot_tq_prod_encode(const ingot_tq_book *book, const ingot_sketch *sketch, const float *x, uint8_t *row) {
    const int n = sketch->dim;
    uint8_t code[INGOT_MAX_HEAD_DIM];
    float r[INGOT_MAX_HEAD_DIM], y[INGOT_MAX_HEAD_DIM];
    double residual[INGOT_MAX_HEAD_DIM], rr = 0;
    const uint16_t s = half(ingot_tq_quantise(book, INGOT_TQ_PAPER, x, n, code));
    const double scale = (double)ingot_f16_to_f32(s); /* the rounded one: the sketch sees what the codes and the scale left */
    for (int i = 0; i < n; i++) {
        residual[i] = (double)x[i] - (double)book->level[code[i]] * scale;
        rr += residual[i] * residual[i];
    }
    const double inverse = rr > 0 ? 1 / sqrt(rr) : 0; /* a unit vector neither overflows nor vanishes in the sums of S */
    for (int i = 0; i < n; i++) r[i] = (float)(residual[i] * inverse);
    ingot_sketch_apply(sketch, y, r);
    ingot_put_u16(row, s);
    ingot_put_u16(row + 2, half((double)INGOT_SQRT_HALF_PI * sqrt(rr / n)));
    ingot_pack_codes(code, n, book->bits, row + 4);
    ingot_sketch_bits(row + 4 + ingot_tq_code_bytes(n, book->bits), y, n);
}

void ingot_tq_prod_decode(const ingot_tq_book *book, const ingot_sketch *sketch, const uint8_t *row, float *x) {
    const int n = sketch->dim;
    float z[INGOT_MAX_HEAD_DIM];
    const float g = ingot_f16_to_f32(ingot_get_u16(row + 2)) / sqrtf((float)n);
    ingot_sketch_back(sketch, z, row + 4 + ingot_tq_code_bytes(n, book->bits), n);
    ingot_tq_decode(book, ingot_get_u16(row), row + 4, n, x);
    for (int i = 0; i < n; i++) x[i] += g * z[i];
}

void ingot_tq_prod_prepare(const ingot_sketch *sketch, const float *q, float *prepared) {
    const int n = sketch->dim;
    const float unit = 1.0f / sqrtf((float)n);
    memcpy(prepared, q, sizeof(float) * (size_t)n);
    ingot_sketch_apply(sketch, prepared + n, q);
    for (int i = n; i < 2 * n; i++) prepared[i] *= unit;
}

float ingot_tq_prod_score(const ingot_tq_book *book, const float *prepared, const uint8_t *row, int n) {
    uint8_t code[INGOT_MAX_HEAD_DIM];
    float on_codes = 0;
    ingot_unpack_codes(row + 4, n, book->bits, code);
    for (int i = 0; i < n; i++) on_codes += prepared[i] * book->level[code[i]];
    const float on_signs = ingot_sketch_dot(row + 4 + ingot_tq_code_bytes(n, book->bits), prepared + n, n);
    return ingot_f16_to_f32(ingot_get_u16(row)) * on_codes + ingot_f16_to_f32(ingot_get_u16(row + 2)) * on_signs;
}

static const ingot_tq_book *book_of(const ingot_kv_fmt *f) { return &ingot_tq_lloyd_max[1 + f->codec - INGOT_CODEC_TQPROD2]; }

static size_t block_bytes(const ingot_kv_fmt *f) { return ingot_tq_prod_bytes(book_of(f), f->dim); }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {
    (void)stride, (void)first, (void)n;
    const ingot_sketch sketch = ingot_tq_prod_sketch(f->dim);
    ingot_tq_prod_encode(book_of(f), &sketch, x, row);
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    const ingot_sketch sketch = ingot_tq_prod_sketch(f->dim);
    ingot_tq_prod_decode(book_of(f), &sketch, row, x);
}

static size_t query_bytes(const ingot_kv_fmt *f) { return 2 * sizeof(float) * (size_t)f->dim; }

static void prepare(const ingot_kv_fmt *f, const float *q, void *prepared) {
    const ingot_sketch sketch = ingot_tq_prod_sketch(f->dim);
    ingot_tq_prod_prepare(&sketch, q, prepared);
}

static void score(const ingot_kv_fmt *f, const void *prepared, const void *row, float *s) { *s = ingot_tq_prod_score(book_of(f), prepared, row, f->dim); }

/* Wide: the levels' part, then g z, of which S^T / sqrt(n) makes the sketch's part. */
static void parts(const ingot_kv_fmt *f, ingot_code_shape part[2], int channels[2]) {
    static const float sign[2] = {-1, 1};
    const ingot_tq_book *book = book_of(f);
    part[0] = (ingot_code_shape){.bits = book->bits, .level = book->level, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = f->dim, .code_at = 4};
    part[1] = (ingot_code_shape){.bits = 1, .level = sign, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = f->dim, .scale_at = 2,
                                 .code_at = 4 + (int)ingot_tq_code_bytes(f->dim, book->bits)};
    channels[0] = channels[1] = f->dim;
}

static void narrow(const ingot_kv_fmt *f, const float *w, float *x) {
    const ingot_sketch sketch = ingot_tq_prod_sketch(f->dim);
    const float unit = 1.0f / sqrtf((float)f->dim);
    float y[INGOT_MAX_HEAD_DIM];
    ingot_sketch_transpose(&sketch, y, w + f->dim);
    for (int i = 0; i < f->dim; i++) x[i] = w[i] + unit * y[i];
}

static const char *check(const ingot_kv_fmt *f) {
    if (!ingot_hadamard_exists(f->dim)) return "the residual's sign matrix is made of Hadamard matrices, and there is none of this head size";
    return ingot_codec_check_dim(f);
}

#define TQ_PROD(id, bits)                                                                                                      \
    const ingot_codec ingot_codec_##id = {                                                                                     \
        .name = #id, .source = "arXiv 2504.19874", .description = "TurboQuant Prod: " bits "-bit codes and one sign bit of the residual's projection, two scales per token", \
        .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, .options = "",                                                     \
        .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = check,                                        \
        .query_bytes = query_bytes, .prepare = prepare, .score = score, .parts = parts, .narrow = narrow,                                                        \
    }
TQ_PROD(tqprod2, "1");
TQ_PROD(tqprod3, "2");
TQ_PROD(tqprod4, "3");
