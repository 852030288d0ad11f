/* PolarQuant on blocks of 16 and on RoPE pairs: the worked example, codes against arc tangents, distortion, packing, degenerate vectors. */
#include "base/half.h"
#include "codec/angle.h"
#include "codec/polar.h"
#include "codec_forms.h"
#include "test.h"
#include <ingot/types.h>
#include <stdlib.h>

static const float example[16] = {1, .5f, -.25f, 2, -1.5f, .75f, .3f, -.6f, .9f, -1.1f, .05f, .4f, -.7f, -.2f, 1.3f, -.9f};
static const uint8_t example_codes[15] = {1, 4, 6, 13, 13, 3, 8, 14, 2, 0, 0, 3, 1, 2, 1};

TEST("codec/polar: codes and vector of the worked example") {
    static const double want[16] = {1.08710, .72638, -.34693, 1.74412, -1.39728, .93363, .29882, -.44721, .79587, -1.19110, .08945, .44968, -.56251, -.11189, 1.48996, -.99556};
    uint8_t code[15];
    float y[16];
    double error = 0, norm = 0;
    const double radius = ingot_polar_codes(example, code);
    CHECK_NEAR(radius, 3.713152, 1e-5);
    CHECK_MEM(code, example_codes, 15);
    ingot_polar_expand(code, (float)radius, y);
    for (int i = 0; i < 16; i++) {
        const double x = (double)example[i], d = (double)y[i] - x;
        CHECK_NEAR(y[i], want[i], 1e-5);
        error += d * d, norm += x * x;
    }
    CHECK_NEAR(error / norm, .021496, 1e-5);
}

TEST("codec/polar: the worked example's score, level by level") {
    static const float q[16] = {.2f, -.4f, 1, .6f, -.3f, .9f, -1.2f, .5f, .7f, .1f, -.8f, .35f, 1.1f, -.55f, .25f, -.15f};
    static const double l1[8] = {-.05593, .39338, .74945, -1.08242, .30575, .18720, -.97156, .29120}, l2[4] = {.28380, .38384, .34827, -.01881}, l3[2] = {.46135, .20277};
    float table[8 * 16], t[8];
    ingot_polar_table(q, table);
    for (int j = 0; j < 8; j++) {
        t[j] = table[16 * j + example_codes[j]];
        CHECK_NEAR(t[j], l1[j], 1e-5);
    }
    ingot_polar_contract(2, example_codes, t);
    for (int j = 0; j < 4; j++) CHECK_NEAR(t[j], l2[j], 1e-5);
    ingot_polar_contract(3, example_codes, t);
    for (int j = 0; j < 2; j++) CHECK_NEAR(t[j], l3[j], 1e-5);
    ingot_polar_contract(4, example_codes, t);
    CHECK_NEAR(3.713152 * (double)t[0], 1.792111, 1e-5);
}

TEST("codec/polar: codes by comparison are those of the arc tangent") {
    static const double threshold[3][3] = {{.471868, .785398, 1.098928}, {.550317, .785398, 1.020479}, {.615062, .785398, .955735}};
    ingot_rng r = {4};
    int wrong = 0;
    for (int n = 0; n < 3000; n++) {
        float y[16];
        double rad[16];
        uint8_t code[15], *c = code;
        for (int i = 0; i < 16; i++) y[i] = (float)ingot_rng_normal(&r), rad[i] = (double)y[i];
        ingot_polar_codes(y, code);
        for (int level = 1; level <= 4; level++)
            for (int j = 0; j < 16 >> level; j++, c++) {
                double angle = atan2(rad[2 * j + 1], rad[2 * j]);
                rad[j] = hypot(rad[2 * j], rad[2 * j + 1]);
                if (angle < 0) angle += 2 * INGOT_PI;
                int want = (int)(angle * 8 / INGOT_PI);
                if (level > 1) {
                    want = 0;
                    for (int k = 0; k < 3; k++) want += angle > threshold[level - 2][k];
                }
                wrong += *c != want;
            }
    }
    CHECK(wrong <= 2); /* the thresholds above have six digits */
    static const float axes[8][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    for (int i = 0; i < 8; i++) { /* sectors begin at their lower edge; a negative zero is a zero */
        for (int negative = 0; negative < 2; negative++) {
            float y[16] = {0};
            uint8_t code[15];
            for (int k = 0; k < 2; k++) y[k] = axes[i][k] == 0 && negative ? -0.0f : axes[i][k];
            ingot_polar_codes(y, code);
            CHECK_INT(code[0], 2 * i);
        }
    }
}

/* Relative squared error, and the mean of <x^, x> / |x|^2. */
static void distortion(ingot_kv_side side, double *error, double *along) {
    const ingot_kv_fmt f = codec_fmt("polar", 128, side);
    const ingot_codec *c = ingot_codec_get(f.codec);
    ingot_rng r = {12};
    double e = 0, xx = 0, xy = 0;
    for (int n = 0; n < 3000; n++) {
        float x[128], y[128];
        uint8_t row[62];
        for (int i = 0; i < 128; i++) x[i] = (float)ingot_rng_normal(&r);
        c->encode(&f, x, 128, 0, 1, row);
        c->decode(&f, row, y);
        for (int i = 0; i < 128; i++) {
            const double a = (double)x[i], b = (double)y[i];
            e += (a - b) * (a - b), xx += a * a, xy += a * b;
        }
    }
    *error = e / xx, *along = xy / xx;
}

TEST("codec/polar: error on normal data is the published one; keys are unbiased") {
    double error, along;
    distortion(INGOT_SIDE_V, &error, &along);
    CHECK_NEAR(error, .0321, .0003);
    CHECK_NEAR(along, .983962, .0003);
    distortion(INGOT_SIDE_K, &error, &along);
    CHECK_NEAR(along, 1, .0003);
    CHECK_NEAR(error, 1 / (.983962 * .983962) - 1, .0004);
}

TEST("codec/polar: rows of every code unpack again") {
    const ingot_kv_fmt f = codec_fmt("polar", 80, INGOT_SIDE_V);
    const ingot_codec *c = ingot_codec_get(f.codec);
    for (int round = 0; round < 256; round++) { /* decoded vectors lie in the middle of their cells: encoding them gives the same row */
        float x[80], y[80];
        uint8_t row[39], again[39];
        for (int b = 0; b < 5; b++) {
            uint8_t code[15];
            for (int i = 0; i < 15; i++) code[i] = (uint8_t)((round * (7 + 2 * i) + b * 5 + i + round / 16) & (i < 8 ? 15 : 3));
            ingot_polar_expand(code, 1.0f + (float)b, x + 16 * b);
        }
        CHECK_INT(c->block_bytes(&f), 39);
        c->encode(&f, x, 80, 0, 1, row);
        c->decode(&f, row, y);
        CHECK_NMSE(y, x, 80, 1e-6); /* the radius is rounded */
        c->encode(&f, y, 80, 0, 1, again);
        CHECK_MEM(again + 10, row + 10, 29);
    }
}

TEST("codec/polar: every head size and side, degenerate vectors") {
    const ingot_codec *c = ingot_codec_get(ingot_codec_find("polar"));
    ingot_rng r = {6};
    for (int side = INGOT_SIDE_K; side <= INGOT_SIDE_V; side++)
        for (const int *dim = codec_dims; *dim; dim++) {
            const ingot_kv_fmt f = codec_fmt("polar", *dim, (ingot_kv_side)side);
            float x[INGOT_MAX_HEAD_DIM] = {0}, y[INGOT_MAX_HEAD_DIM];
            uint8_t row[INGOT_MAX_HEAD_DIM];
            test_case("dim %d side %d", *dim, side);
            CHECK(c->check(&f) == NULL);
            codec_check_forms(&f, &r, 0, 1, 0.06);
            c->encode(&f, x, *dim, 0, 1, row);
            c->decode(&f, row, y);
            for (int i = 0; i < *dim; i++) CHECK_NEAR(y[i], 0, 0);
            for (int i = 0; i < *dim; i++) x[i] = i % 3 ? 3.4e38f : -3.4e38f;
            c->encode(&f, x, *dim, 0, 1, row);
            c->decode(&f, row, y);
            for (int i = 0; i < *dim; i++) CHECK(isfinite(y[i]) && (y[i] > 0) == (x[i] > 0));
        }
    ingot_kv_fmt f = codec_fmt("polar", 128, INGOT_SIDE_K);
    CHECK_INT(c->block_bytes(&f), 62); /* 3.875 bits an element */
    f.dim = 72;
    CHECK(c->check(&f) != NULL);
}

TEST("codec/angles and sines without a C library") {
    for (int i = 0; i < 4000; i++) {
        const double a = i * 2 * INGOT_PI / 4000, radius = i % 7 ? 1 : 1e30;
        double s, c;
        ingot_sin_cos(a, &s, &c);
        CHECK_NEAR(s, sin(a), 1e-12);
        CHECK_NEAR(c, cos(a), 1e-12);
        ingot_sin_cos(-20 * a, &s, &c);
        CHECK_NEAR(s, sin(-20 * a), 1e-12);
        CHECK_NEAR(c, cos(-20 * a), 1e-12);
        CHECK_NEAR(ingot_angle(radius * cos(a), radius * sin(a)), a, 2e-10);
    }
    CHECK_NEAR(ingot_angle(0, 0), 0, 0);
    CHECK_NEAR(ingot_angle(1, -1e-300), 0, 1e-15); /* just below 2 pi: the range is half open */
    CHECK_NEAR(ingot_angle(-1, 0), INGOT_PI, 1e-15);
}

static float half_at(const uint8_t *p) { return ingot_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

/* Radius 1 + t / 16 and angle 1 + t / 64 of pair 3 over 16 tokens. */
TEST("codec/polarpair: codes are floors, decoded to the middle of a cell") {
    for (int adjacent = 0; adjacent < 2; adjacent++) {
        ingot_kv_fmt f = codec_fmt("polarpair", 64, INGOT_SIDE_K);
        const ingot_codec *c = ingot_codec_get(f.codec);
        f.adjacent_pairs = adjacent;
        const int a = adjacent ? 6 : 3, b = adjacent ? 7 : 35;
        float *x = calloc(64 * 64, sizeof *x), *y = malloc(sizeof *y * 64 * 64);
        uint8_t *block = malloc(c->block_bytes(&f));
        test_case("adjacent %d", adjacent);
        for (int t = 0; t < 17; t++) {
            const double radius = 1 + t / 16.0, angle = 1 + t / 64.0;
            x[t * 64 + a] = (float)(radius * cos(angle)), x[t * 64 + b] = (float)(radius * sin(angle));
        }
        c->encode(&f, x, 64, 0, 17, block);
        CHECK_INT(c->block_bytes(&f), 8 * 32 + 64 * 32);
        CHECK_NEAR(half_at(block + 24), 1 / 16.0, 1e-4);
        CHECK_NEAR(half_at(block + 26), 1, 1e-3);
        CHECK_NEAR(half_at(block + 28), 1 / 64.0, 1e-4);
        CHECK_NEAR(half_at(block + 30), 1, 1e-3);
        c->decode(&f, block, y);
        for (int t = 0; t < 64; t++) {
            const int code = block[256 + 32 * t + 3], high = code >> 4, low = code & 15, want = t > 16 ? 0 : t < 15 ? t : 15;
            CHECK(abs(high - want) <= 1 && abs(low - want) <= 1); /* values on the edges of cells, and steps rounded to halves */
            const double radius = 1 + (high + 0.5) / 16, angle = 1 + (low + 0.5) / 64;
            CHECK_NEAR(y[t * 64 + a], radius * cos(angle), 2e-3);
            CHECK_NEAR(y[t * 64 + b], radius * sin(angle), 2e-3);
        }
        free(x), free(y), free(block);
    }
}

TEST("codec/polarpair: score form and value form agree on whole and ragged groups") {
    ingot_rng r = {77};
    for (int group = 32; group <= 64; group += 32)
        for (const int *dim = codec_dims; *dim; dim++)
            for (int adjacent = 0; adjacent < 2; adjacent++) {
                ingot_kv_fmt f = codec_fmt("polarpair", *dim, INGOT_SIDE_K);
                f.group = group, f.adjacent_pairs = adjacent;
                test_case("dim %d group %d adjacent %d", *dim, group, adjacent);
                CHECK(ingot_codec_get(f.codec)->check(&f) == NULL);
                codec_check_forms(&f, &r, 0, group, 0.03);
                codec_check_forms(&f, &r, 7, 13, 0.03);
                codec_check_forms(&f, &r, group - 1, 1, 1e-5);
            }
}

TEST("codec/polarpair: constant, zero and largest keys, sizes") {
    ingot_kv_fmt f = codec_fmt("polarpair", 64, INGOT_SIDE_K);
    const ingot_codec *c = ingot_codec_get(f.codec);
    float *x = calloc(64 * 64, sizeof *x), *y = malloc(sizeof *y * 64 * 64);
    uint8_t *block = malloc(c->block_bytes(&f));
    for (int t = 0; t < 64; t++) x[t * 64 + 1] = -3.25f, x[t * 64 + 2] = 3.4e38f, x[t * 64 + 34] = t % 2 ? -3.4e38f : 1e-30f;
    c->encode(&f, x, 64, 0, 64, block);
    c->decode(&f, block, y);
    for (int t = 0; t < 64; t++) {
        CHECK_NEAR(y[t * 64], 0, 0);
        CHECK_NEAR(y[t * 64 + 1], -3.25, 0.01); /* the radius is exact, the angle a half */
        CHECK_NEAR(y[t * 64 + 33], 0, 0.01);
        CHECK(isfinite(y[t * 64 + 2]) && isfinite(y[t * 64 + 34]));
        CHECK_NEAR(hypot((double)y[t * 64 + 2], (double)y[t * 64 + 34]), 65504, 10);
    }
    CHECK_INT(f.group, 64);
    CHECK_INT(c->sides, 1);
    f.dim = 128;
    CHECK_INT(c->block_bytes(&f), 128 * 64 * 45 / 80); /* 4.5 bits an element */
    f.group = 32;
    CHECK_INT(c->block_bytes(&f), 128 * 32 * 5 / 8);
    CHECK_INT(c->tokens(&f), 32);
    f.group = 128;
    CHECK_HAS(c->check(&f), "64");
    f.group = 64, f.dim = 40;
    CHECK(c->check(&f) != NULL);
    free(x), free(y), free(block);
}
