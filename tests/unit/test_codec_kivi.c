/* kivi2 and kivi4 against a reference written from the rules of the paper and of its bit-exact ports: minimum and step per group, ragged groups filled
 * up by repeating their last element, step and minimum rounded to halves before codes are taken, half to even, product and sum rounded apart. */
#include "codec_rows.h"
#include <stdlib.h>

/* --- reference: groups of `size` numbers, of which n are there --- */

/* To the nearest half float, half to even, by the definition: multiples of 2^-24 below 2^-14, else 11 significant bits. */
static double to_half(double x) {
    int e;
    if (x == 0) return x;
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    const int step = e - 11 < -24 ? -24 : e - 11;
    return ldexp(nearbyint(ldexp(x, -step)), step);
}

typedef struct reference { double s, z; int code[128]; float back[128]; } reference;

static void quantise(reference *r, const float *x, int n, int size, int bits) {
    float lo = INFINITY, hi = -INFINITY;
    const int top = (1 << bits) - 1;
    for (int i = 0; i < size; i++) {
        const float padded = x[i < n ? i : n - 1];
        lo = padded < lo ? padded : lo, hi = padded > hi ? padded : hi;
    }
    volatile float range = hi - lo, step = range / (float)top;
    r->s = to_half((double)step), r->z = to_half((double)lo);
    for (int i = 0; i < n; i++) {
        volatile float shifted = x[i] - (float)r->z, q = r->s > 0 ? shifted / (float)r->s : 0.0f;
        const double rounded = nearbyint((double)q);
        r->code[i] = rounded < 0 ? 0 : rounded > top ? top : (int)rounded;
        volatile float product = (float)r->code[i] * (float)r->s, sum = product + (float)r->z;
        r->back[i] = sum;
    }
}

/* --- inputs --- */

typedef enum input { NORMAL, HALVES, UNEVEN, CONSTANT, N_INPUTS } input;

/* One number of a group: element i of its run. HALVES: multiples of 1/2 in steps of 1, exactly between codes; both ends are in the group when it has two. */
static float number(ingot_rng *r, input in, int bits, int i, int c) {
    const int top = (1 << bits) - 1;
    switch (in) {
    case HALVES: return (float)(c % 5) - 2 + (i == 0 ? 0.0f : i == 1 ? (float)top : .5f * (float)(int)(ingot_rng_next(r) % (uint64_t)(2 * top + 1)));
    case UNEVEN: return ldexpf((float)ingot_rng_normal(r), c % 23 - 11) + (float)(c % 3) * 40;
    case CONSTANT: return c % 2 ? .3f : -1024.5f;
    default: return (float)ingot_rng_normal(r);
    }
}

/* --- comparison --- */

/* The half at p by its definition: sign, 5 bits of exponent, 10 of mantissa. */
static bool same_half(const uint8_t *p, double want) {
    const int c = p[0] | p[1] << 8, e = c >> 10 & 31, m = c & 1023;
    return e < 31 && ldexp(e ? 1024 + m : m, (e ? e : 1) - 25) == fabs(want) && (c >= 0x8000) == (signbit(want) != 0);
}

/* A block of keys: tokens [first, first + n) of f->group. */
static bool keys_agree(const ingot_kv_fmt *f, int bits, const float *x, int first, int n) {
    const ingot_codec *c = ingot_codec_get(f->codec);
    const size_t bytes = c->block_bytes(f);
    uint8_t *block = malloc(bytes);
    float *y = malloc((size_t)(f->group * f->dim) * sizeof *y);
    bool same = bytes == (size_t)(4 * f->dim + f->group * f->dim * bits / 8);
    c->encode(f, x, f->dim, first, n, block);
    c->decode(f, block, y);
    for (int ch = 0; ch < f->dim && same; ch++) {
        reference r;
        float run[64];
        for (int t = 0; t < n; t++) run[t] = x[(first + t) * f->dim + ch];
        quantise(&r, run, n, f->group, bits);
        same = same_half(block + 2 * ch, r.s) && same_half(block + 2 * (f->dim + ch), r.z);
        for (int t = 0; t < f->group && same; t++) {
            const bool there = t >= first && t < first + n;
            same = codec_bits_at(block + 4 * f->dim + t * f->dim * bits / 8, bits, ch) == (there ? r.code[t - first] : 0);
            if (there) same = same && !memcmp(&y[t * f->dim + ch], &r.back[t - first], sizeof(float));
        }
    }
    free(block), free(y);
    return same;
}

static bool values_agree(const ingot_kv_fmt *f, int bits, const float *x) {
    const int ng = (f->dim + f->group - 1) / f->group;
    uint8_t row[CODEC_ROW_BYTES];
    float y[INGOT_MAX_HEAD_DIM];
    bool same = codec_row_bytes(f) == (size_t)(4 * ng + f->dim * bits / 8);
    codec_row_encode(f, x, row);
    codec_row_decode(f, row, y);
    for (int g = 0; g < ng && same; g++) {
        const int at = g * f->group, n = f->dim - at < f->group ? f->dim - at : f->group;
        reference r;
        quantise(&r, x + at, n, f->group, bits);
        same = same_half(row + 2 * g, r.s) && same_half(row + 2 * (ng + g), r.z);
        for (int i = 0; i < n && same; i++) {
            same = codec_bits_at(row + 4 * ng, bits, at + i) == r.code[i] && !memcmp(&y[at + i], &r.back[i], sizeof(float));
        }
    }
    return same;
}

TEST("codec kivi/keys equal the reference bit for bit") {
    static const int dims[] = {16, 80};
    ingot_rng r = {41};
    int n_cases = 0;
    for (int bits = 2; bits <= 4; bits += 2)
        for (int group = 32; group <= 64; group += 32)
            for (int tail = 0; tail < 5; tail++)
                for (int half = 0; half < 2; half++)
                    for (int in = 0; in < N_INPUTS; in++)
                        for (size_t d = 0; d < 2; d++, n_cases++) {
                            const int first = tail == 4 ? 5 : 0, n = tail == 0 ? group : tail == 1 ? 1 : tail == 2 ? 7 : tail == 3 ? group - 1 : group - 8;
                            ingot_kv_fmt f = codec_fmt(bits == 2 ? "kivi2" : "kivi4", dims[d], INGOT_SIDE_K);
                            float *x = calloc((size_t)(group * f.dim), sizeof *x);
                            f.group = group;
                            test_case("kivi%d group %d tokens [%d, %d) %s input %d dim %d", bits, group, first, first + n, half ? "f16" : "f32", in, f.dim);
                            for (int t = first; t < first + n; t++)
                                for (int c = 0; c < f.dim; c++) {
                                    const float v = number(&r, (input)in, bits, t - first, c);
                                    x[t * f.dim + c] = half ? (float)to_half((double)v) : v;
                                }
                            CHECK(keys_agree(&f, bits, x, first, n));
                            free(x);
                        }
    CHECK_INT(n_cases, 320);
}

TEST("codec kivi/values equal the reference bit for bit") {
    static const int dims[] = {64, 80, 112, 128, 192}, groups[] = {32, 64, 128};
    ingot_rng r = {42};
    int n_cases = 0;
    for (int bits = 2; bits <= 4; bits += 2)
        for (size_t g = 0; g < 3; g++)
            for (size_t d = 0; d < 5; d++)
                for (int half = 0; half < 2; half++)
                    for (int in = 0; in < N_INPUTS; in++, n_cases++) {
                        ingot_kv_fmt f = codec_fmt(bits == 2 ? "kivi2" : "kivi4", dims[d], INGOT_SIDE_V);
                        float x[INGOT_MAX_HEAD_DIM];
                        f.group = groups[g] < dims[d] ? groups[g] : dims[d];
                        test_case("kivi%d group %d %s input %d dim %d", bits, f.group, half ? "f16" : "f32", in, f.dim);
                        for (int i = 0; i < f.dim; i++) {
                            const float v = number(&r, (input)in, bits, i % f.group, in == UNEVEN ? i : i / f.group);
                            x[i] = half ? (float)to_half((double)v) : v;
                        }
                        CHECK(values_agree(&f, bits, x));
                    }
    CHECK_INT(n_cases, 240);
}

/* Values of one group of 32 from the examples, the rest repeated. */
static void example(const char *name, int bits, const float *x, int n, int size, const int *codes, const double *back, double tol) {
    ingot_kv_fmt f = codec_fmt(name, size, INGOT_SIDE_K);
    const ingot_codec *c = ingot_codec_get(f.codec);
    float *tokens = malloc((size_t)(32 * size) * sizeof *tokens), *y = malloc((size_t)(32 * size) * sizeof *y);
    uint8_t *block = malloc(c->block_bytes(&f));
    for (int t = 0; t < n; t++)
        for (int ch = 0; ch < size; ch++) tokens[t * size + ch] = x[t];
    c->encode(&f, tokens, size, 0, n, block);
    c->decode(&f, block, y);
    for (int t = 0; t < n; t++) {
        CHECK_INT(codec_bits_at(block + 4 * size + t * size * bits / 8, bits, size - 1), codes[t]);
        CHECK_NEAR(y[t * size + size - 1], back[t], tol);
    }
    free(tokens), free(y), free(block);
}

TEST("codec kivi/worked examples") {
    static const float ties[5] = {0, .5f, 1.5f, 2.5f, 3}, eight[8] = {-1, .25f, 2, .95f, -.35f, 1.72f, 0, .6f}, ragged[3] = {5, 6.2f, 7};
    static const int ties2[5] = {0, 0, 2, 2, 3}, eight2[8] = {0, 1, 3, 2, 1, 3, 1, 2}, eight4[8] = {0, 6, 15, 10, 3, 14, 5, 8}, ragged2[3] = {0, 2, 3};
    static const double ties_back[5] = {0, 0, 2, 2, 3}, eight2_back[8] = {-1, 0, 2, 1, 0, 2, 0, 1}, eight4_back[8] = {-1, .2, 2, 1, -.4, 1.8, 0, .6};
    static const double ragged_back[3] = {5, 6.333333, 7};
    example("kivi2", 2, ties, 5, 16, ties2, ties_back, 0);
    example("kivi2", 2, eight, 8, 16, eight2, eight2_back, 0);
    example("kivi4", 4, eight, 8, 16, eight4, eight4_back, 1e-3); /* the step .2 is no half */
    example("kivi2", 2, ragged, 3, 16, ragged2, ragged_back, 1e-3);
    static const float constant[4] = {.300048828125f, .300048828125f, .300048828125f, .300048828125f}; /* the half next to .3 */
    static const int zeros[4] = {0};
    static const double constant_back[4] = {.300048828125, .300048828125, .300048828125, .300048828125};
    example("kivi2", 2, constant, 4, 16, zeros, constant_back, 0);
    example("kivi4", 4, constant, 4, 16, zeros, constant_back, 0);
}

/* Product and sum are rounded apart in this build, and steps that are halves make the product exact, so that a fused multiply-add could not differ. */
TEST("codec kivi/product and sum have a rounding each") {
    volatile float s = 0x1.e89108p-3f, z = -0x1.aff3ccp+0f, s2 = 0x1.be7710p-4f, z2 = 0x1.8d5f44p-1f;
    const float p = 5 * s, p2 = 11 * s2;
    CHECK_NEAR(p + z, -0x1.fa64a0p-2, 0);
    CHECK_NEAR(p2 + z2, 0x1.f9a17ep+0, 0);
    bool exact = true;
    for (unsigned h = 0; h < 0x7c00; h++)
        for (int code = 0; code < 16; code++) {
            const double step = (double)ingot_f16_to_f32((uint16_t)h);
            exact &= (double)((float)code * (float)step) == code * step;
        }
    CHECK(exact);
}

TEST("codec kivi/error on normal data is the published one") {
    ingot_rng r = {43};
    for (int bits = 2; bits <= 4; bits += 2) {
        const ingot_kv_fmt k = codec_fmt(bits == 2 ? "kivi2" : "kivi4", 128, INGOT_SIDE_K), v = codec_fmt(bits == 2 ? "kivi2" : "kivi4", 128, INGOT_SIDE_V);
        const double want = bits == 2 ? .1542 : .00611;
        float *x = malloc(32 * 128 * sizeof *x), *y = malloc(32 * 128 * sizeof *y);
        uint8_t *block = malloc(ingot_codec_get(k.codec)->block_bytes(&k));
        double error = 0, square = 0;
        for (int n = 0; n < 150; n++) {
            for (int i = 0; i < 32 * 128; i++) x[i] = (float)ingot_rng_normal(&r);
            ingot_codec_get(k.codec)->encode(&k, x, 128, 0, 32, block);
            ingot_codec_get(k.codec)->decode(&k, block, y);
            for (int i = 0; i < 32 * 128; i++) error += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]), square += (double)x[i] * (double)x[i];
        }
        test_case("%d bits", bits);
        CHECK_NEAR(error / square, want, .01 * want);
        CHECK_NEAR(codec_noise_error(&v, 5000, 0), want, .01 * want);
        free(x), free(y), free(block);
    }
}

TEST("codec kivi/keys take groups of 32 or 64 tokens") {
    ingot_kv_fmt f = codec_fmt("kivi2", 128, INGOT_SIDE_K);
    const ingot_codec *c = ingot_codec_get(f.codec);
    CHECK_INT(c->tokens(&f), 32);
    f.group = 64;
    CHECK(c->check(&f) == NULL);
    CHECK_INT(c->tokens(&f), 64);
    f.group = 128;
    CHECK(c->check(&f) != NULL);
    f.side = INGOT_SIDE_V;
    CHECK(c->check(&f) == NULL);
    CHECK_INT(c->tokens(&f), 1);
}
