/* Codecs against figures worked out elsewhere (ggml's q8_0, the affine examples) and their error on known data. */
#include "base/half.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "test.h"
#include <ingot/types.h>
#include <stdlib.h>

static const ingot_codec *codec(const char *name) { return ingot_codec_get(ingot_codec_find(name)); }

static uint16_t half_at(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static int nibble(const uint8_t *row, int dim, int group, int i) {
    const uint8_t *codes = row + 4 * ((dim + group - 1) / group);
    return codes[i / 2] >> (i & 1) * 4 & 15;
}

TEST("codec/q8_0 gives ggml's bytes") {
    float x[32] = {.1f, -.7f, 1.25f, -1.6f, .35f, .9f, -.05f, 2.4f}, y[32];
    static const int codes[8] = {5, -37, 66, -85, 19, 48, -3, 127};
    static const double back[8] = {.094452, -.698944, 1.246765, -1.605682, .358917, .906738, -.056671, 2.399078};
    uint8_t row[34];
    CHECK_INT(codec("q8_0")->row_bytes(32, 0), 34);
    codec("q8_0")->encode(x, 32, 0, row);
    codec("q8_0")->decode(row, 32, 0, y);
    CHECK_NEAR(ingot_f16_to_f32(half_at(row)), .018890381, 1e-9);
    for (int i = 0; i < 32; i++) {
        CHECK_INT((int8_t)row[2 + i], i < 8 ? codes[i] : 0);
        CHECK_NEAR(y[i], i < 8 ? back[i] : 0, 1e-6);
    }
}

TEST("codec/q8_0 rounds half away from zero and shortens the last block") {
    float x[48] = {127.0f, 0.5f, -0.5f, 2.5f, -2.5f};
    uint8_t row[64];
    x[40] = 3.0f;
    CHECK_INT(codec("q8_0")->row_bytes(48, 0), 34 + 18);
    codec("q8_0")->encode(x, 48, 0, row);
    static const int codes[5] = {127, 1, -1, 3, -3};
    for (int i = 0; i < 5; i++) CHECK_INT((int8_t)row[2 + i], codes[i]);
    CHECK_INT((int8_t)row[34 + 2 + 8], 127); /* the short block has a step of its own */
}

TEST("codec/int4 codes of the worked example") {
    float x[16] = {-1, .25f, 2, .95f, -.35f, 1.72f, 0, .6f, -1, .25f, 2, .95f, -.35f, 1.72f, 0, .6f}, y[16];
    static const int codes[8] = {0, 6, 15, 10, 3, 14, 5, 8};
    static const double back[8] = {-1, .2, 2, 1, -.4, 1.8, 0, .6};
    uint8_t row[64];
    CHECK_INT(codec("int4")->row_bytes(16, 16), 4 + 8);
    codec("int4")->encode(x, 16, 16, row);
    codec("int4")->decode(row, 16, 16, y);
    for (int i = 0; i < 16; i++) {
        CHECK_INT(nibble(row, 16, 16, i), codes[i % 8]);
        CHECK_NEAR(y[i], back[i % 8], 2e-3); /* scale .2 and mid .6 are rounded to halves */
    }
}

TEST("codec/int4 rounds half to even") {
    /* Step 1, mid 0: x - mid is the code less 8. */
    float x[16] = {-8, 7, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f};
    uint8_t row[64];
    codec("int4")->encode(x, 16, 16, row);
    CHECK_NEAR(ingot_f16_to_f32(half_at(row)), 1, 0);
    CHECK_NEAR(ingot_f16_to_f32(half_at(row + 2)), 0, 0);
    static const int codes[8] = {0, 15, 8, 10, 10, 8, 6, 6};
    for (int i = 0; i < 8; i++) CHECK_INT(nibble(row, 16, 16, i), codes[i]);
}

TEST("codec/int4 gives constant and ragged groups back") {
    float x[80], y[80];
    uint8_t row[128];
    for (int i = 0; i < 80; i++) x[i] = i < 32 ? 0.3f : i < 64 ? (float)(i - 40) : (i & 1 ? 7.0f : 5.0f);
    CHECK_INT(codec("int4")->row_bytes(80, 32), 3 * 4 + 40);
    codec("int4")->encode(x, 80, 32, row);
    codec("int4")->decode(row, 80, 32, y);
    for (int i = 0; i < 32; i++) {
        CHECK_INT(nibble(row, 80, 32, i), 8);
        CHECK_NEAR(y[i], ingot_f16_to_f32(ingot_f32_to_f16(0.3f)), 0); /* scale 0: exactly the mid */
    }
    for (int i = 64; i < 80; i++) CHECK_NEAR(y[i], x[i], 2e-3); /* 5 and 7 only: the short group does not see its neighbours */
    codec("int4")->encode(x + 64, 16, 16, row);
    codec("int4")->decode(row, 16, 16, y);
    for (int i = 0; i < 16; i++) CHECK_NEAR(y[i], x[64 + i], 2e-3);
}

/* Mean squared error over the variance 1 of the noise. */
static double noise_error(const char *name, int dim, int group, double offset) {
    ingot_rng r = {99};
    const ingot_codec *c = codec(name);
    float x[INGOT_MAX_HEAD_DIM], y[INGOT_MAX_HEAD_DIM];
    uint8_t row[INGOT_MAX_HEAD_DIM * 2];
    double e = 0;
    const int rows = 400000 / dim;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < dim; j++) x[j] = (float)(ingot_rng_normal(&r) + offset);
        c->encode(x, dim, group, row);
        c->decode(row, dim, group, y);
        for (int j = 0; j < dim; j++) e += ((double)y[j] - (double)x[j]) * ((double)y[j] - (double)x[j]);
    }
    return e / rows / dim;
}

TEST("codec/error on normal data is the published one") {
    CHECK_NEAR(noise_error("int4", 128, 32, 0), .00611, .0001);
    CHECK_NEAR(noise_error("int4", 128, 64, 0), .00803, .0001);
    CHECK_NEAR(noise_error("int4", 128, 128, 0), .00995, .0001);
    CHECK_NEAR(noise_error("q8_0", 128, 0, 0), .000029, .000001);
    CHECK(noise_error("f16", 128, 0, 0) < 1e-7);
    CHECK_NEAR(noise_error("int4", 128, 32, 10), .00611, .0001); /* affine: an offset costs nothing */
}

/* What every codec must do with every head size that a cache may have. */
TEST("codec/every codec stores every head size") {
    static const int dims[] = {64, 80, 96, 112, 128, 192, 256, 512};
    static const int none[] = {0, 0};
    ingot_rng r = {5};
    for (int c = 0; c < INGOT_N_CODECS; c++) {
        const ingot_codec *k = ingot_codec_get(c);
        CHECK_INT(ingot_codec_find(k->name), c);
        for (const int *g = k->groups ? k->groups : none; *g || !k->groups; g++) {
            for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
                const int dim = dims[d], group = *g < dim ? *g : dim;
                float x[INGOT_MAX_HEAD_DIM], y[INGOT_MAX_HEAD_DIM], z[INGOT_MAX_HEAD_DIM];
                uint8_t row[INGOT_MAX_HEAD_DIM * 2 + 1], again[INGOT_MAX_HEAD_DIM * 2];
                const size_t bytes = k->row_bytes(dim, group);
                test_case("%s dim %d group %d", k->name, dim, group);
                CHECK(k->check(dim, group) == NULL);
                if (!CHECK(bytes <= (size_t)dim * 2)) return;
                for (int i = 0; i < dim; i++) x[i] = (float)ingot_rng_normal(&r);
                memset(row, 0xa5, sizeof row);
                k->encode(x, dim, group, row);
                CHECK_INT(row[bytes], 0xa5); /* not a byte more */
                k->encode(x, dim, group, again);
                CHECK_MEM(again, row, bytes);
                k->decode(row, dim, group, y);
                CHECK_NMSE(y, x, (size_t)dim, 0.02);
                memset(row, 0, bytes);
                k->decode(row, dim, group, z);
                for (int i = 0; i < dim; i++) CHECK_NEAR(z[i], 0, 0); /* an empty slot is finite: zero */
                for (int i = 0; i < dim; i++) x[i] = i % 3 ? 3.4e38f : -3.4e38f;
                k->encode(x, dim, group, row);
                k->decode(row, dim, group, z);
                for (int i = 0; i < dim; i++) CHECK(isfinite(z[i]) && (z[i] > 0) == (x[i] > 0));
            }
            if (!k->groups) break;
        }
        CHECK(k->check(40, k->default_group) != NULL);
        CHECK(k->check(0, k->default_group) != NULL);
        CHECK(k->check(528, k->default_group) != NULL);
    }
    CHECK(ingot_codec_get(-1) == NULL && ingot_codec_get(INGOT_N_CODECS) == NULL);
    CHECK_INT(ingot_codec_find("q9"), -1);
}
