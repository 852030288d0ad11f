/* TurboQuant Prod (arXiv 2504.19874, algorithm 2): codes of b - 1 bits, and one bit a channel for the residual r (QJL, arXiv 2406.03482).
 *     x^ = level * s + g * Q^T z,   z = sign(Q r),   g = sqrt(pi / 2) |r| / sqrt(n)
 * which is the paper's sqrt(pi / 2) / n * |r| * S^T z with S = sqrt(n) Q. A zero of Q r counts as minus.
 * Row: f16 s, f16 g, codes of b - 1 bits, sign bits (1 = plus), both least significant bit first.
 *
 * Scores are unbiased on average over rotations. n times their variance, for |q| = |x| = 1, is (pi/2 - 1) D(b - 1) with an orthogonal Q: .571 .207 .067 .0197 for
 * 1 to 4 bits in all (pi/2 D(b - 1) with the paper's Gaussian S). The plain code with the unbiased scale has .567 .131 .035 .009, so
 * Prod is here to be compared with, not to be used. */
#include "tq_prod.h"
#include "../base/hadamard.h"
#include "codec_util.h"
#include "pack.h"
#include <math.h>
#include <string.h>

/* Signs of round i: top bits of the outputs of splitmix64 with seed 43 + i, 1 = minus (tested against base/rng.h). The Hadamard transform has seed 42, and two
 * rounds make a vector that is sparse or constant in its frame look random. */
static const uint64_t minus[2][INGOT_TQ_SIGN_WORDS] = {
    {0x504f0b25bb68358bull, 0xb6b3a04307e19e3dull, 0x709e9df17d8330f7ull, 0x4d1b6227574d402aull,
     0x907b674ad964e3cfull, 0x2a0ac577c5d08bd1ull, 0x63f62ace11ab133cull, 0xbf6f8f6af86c3460ull},
    {0xf179da4050b832cbull, 0x8f5ca554efb8d793ull, 0x586151b5e5b80e48ull, 0xdd75d08c61aec670ull,
     0x2f8e059ff6667de3ull, 0x96451b8c445c222dull, 0x5a31ca1836f9add8ull, 0xff6e99d1de15ee6bull},
};
const ingot_tq_sketch ingot_tq_sketch_own = {2, minus};

static void flip(const uint64_t *signs, float *x, int n) {
    for (int i = 0; i < n; i++) x[i] = signs[i / 64] >> (i % 64) & 1 ? -x[i] : x[i];
}

void ingot_tq_sketch_apply(const ingot_tq_sketch *sketch, float *x, int n, bool transpose) {
    for (int i = 0; i < sketch->rounds; i++) {
        if (!transpose) flip(sketch->minus[i], x, n);
        ingot_hadamard(x, n, transpose);
        if (transpose) flip(sketch->minus[sketch->rounds - 1 - i], x, n);
    }
}

size_t ingot_tq_prod_bytes(const ingot_tq_book *book, int n) { return 4 + ingot_tq_code_bytes(n, book->bits) + ingot_tq_code_bytes(n, 1); }

static uint16_t half(double x) { return ingot_f32_to_f16((float)fmin(x, (double)INGOT_F16_MAX)); }

void ingot_tq_prod_encode(const ingot_tq_book *book, const ingot_tq_sketch *sketch, const float *x, int n, uint8_t *row) {
    uint8_t code[INGOT_MAX_HEAD_DIM];
    float r[INGOT_MAX_HEAD_DIM];
    double residual[INGOT_MAX_HEAD_DIM], rr = 0;
    const uint16_t s = half(ingot_tq_quantise(book, INGOT_TQ_PAPER, x, n, code));
    const double scale = (double)ingot_f16_to_f32(s); /* the rounded one: the sketch sees what the codes and the scale left */
    for (int i = 0; i < n; i++) {
        residual[i] = (double)x[i] - (double)book->level[code[i]] * scale;
        rr += residual[i] * residual[i];
    }
    const double inverse = rr > 0 ? 1 / sqrt(rr) : 0; /* a unit vector neither overflows nor vanishes in the sums of Q */
    for (int i = 0; i < n; i++) r[i] = (float)(residual[i] * inverse);
    ingot_tq_sketch_apply(sketch, r, n, false);
    ingot_put_u16(row, s);
    ingot_put_u16(row + 2, half(sqrt(1.57079632679489662 * rr / n)));
    ingot_pack_codes(code, n, book->bits, row + 4);
    for (int i = 0; i < n; i++) code[i] = r[i] > 0.0f;
    ingot_pack_codes(code, n, 1, row + 4 + ingot_tq_code_bytes(n, book->bits));
}

void ingot_tq_prod_decode(const ingot_tq_book *book, const ingot_tq_sketch *sketch, const uint8_t *row, int n, float *x) {
    uint8_t bit[INGOT_MAX_HEAD_DIM];
    float z[INGOT_MAX_HEAD_DIM];
    const float g = ingot_f16_to_f32(ingot_get_u16(row + 2));
    ingot_unpack_codes(row + 4 + ingot_tq_code_bytes(n, book->bits), n, 1, bit);
    for (int i = 0; i < n; i++) z[i] = bit[i] ? 1.0f : -1.0f;
    ingot_tq_sketch_apply(sketch, z, n, true);
    ingot_tq_decode(book, ingot_get_u16(row), row + 4, n, x);
    for (int i = 0; i < n; i++) x[i] += g * z[i];
}

void ingot_tq_prod_prepare(const ingot_tq_sketch *sketch, const float *q, int n, float *prepared) {
    memcpy(prepared, q, sizeof(float) * (size_t)n);
    memcpy(prepared + n, q, sizeof(float) * (size_t)n);
    ingot_tq_sketch_apply(sketch, prepared + n, n, false);
}

float ingot_tq_prod_score(const ingot_tq_book *book, const float *prepared, const uint8_t *row, int n) {
    uint8_t code[INGOT_MAX_HEAD_DIM], bit[INGOT_MAX_HEAD_DIM];
    const float *q = prepared, *sq = prepared + n;
    float on_codes = 0, on_signs = 0;
    ingot_unpack_codes(row + 4, n, book->bits, code);
    ingot_unpack_codes(row + 4 + ingot_tq_code_bytes(n, book->bits), n, 1, bit);
    for (int i = 0; i < n; i++) {
        on_codes += q[i] * book->level[code[i]];
        on_signs += bit[i] ? sq[i] : -sq[i];
    }
    return ingot_f16_to_f32(ingot_get_u16(row)) * on_codes + ingot_f16_to_f32(ingot_get_u16(row + 2)) * on_signs;
}

static const ingot_tq_book *book_of(const ingot_kv_fmt *f) { return &ingot_tq_lloyd_max[1 + f->codec - INGOT_CODEC_TQPROD2]; }

static size_t block_bytes(const ingot_kv_fmt *f) { return ingot_tq_prod_bytes(book_of(f), f->dim); }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {
    (void)stride, (void)first, (void)n;
    ingot_tq_prod_encode(book_of(f), &ingot_tq_sketch_own, x, f->dim, row);
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) { ingot_tq_prod_decode(book_of(f), &ingot_tq_sketch_own, row, f->dim, x); }

static size_t query_bytes(const ingot_kv_fmt *f) { return 2 * sizeof(float) * (size_t)f->dim; }

static void prepare(const ingot_kv_fmt *f, const float *q, void *prepared) { ingot_tq_prod_prepare(&ingot_tq_sketch_own, q, f->dim, prepared); }

static void score(const ingot_kv_fmt *f, const void *prepared, const void *row, float *s) { *s = ingot_tq_prod_score(book_of(f), prepared, row, f->dim); }

static const char *check(const ingot_kv_fmt *f) {
    if (!ingot_hadamard_exists(f->dim)) return "the residual's sign matrix is made of Hadamard matrices, and there is none of this head size";
    return ingot_codec_check_dim(f);
}

#define TQ_PROD(id, bits)                                                                                                      \
    const ingot_codec ingot_codec_##id = {                                                                                     \
        .name = #id, .description = "TurboQuant Prod: " bits "-bit codes and one sign bit of the residual's projection, two scales per token", \
        .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, .options = "",                                                     \
        .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = check,                                        \
        .query_bytes = query_bytes, .prepare = prepare, .score = score,                                                        \
    }
TQ_PROD(tqprod2, "1");
TQ_PROD(tqprod3, "2");
TQ_PROD(tqprod4, "3");
