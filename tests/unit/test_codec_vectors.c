/* Codecs against figures worked out elsewhere (ggml's q8_0, the affine examples) and their error on known data. */
#include "base/half.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "test.h"
#include <ingot/types.h>
#include <stdlib.h>

static const ingot_codec *codec(const char *name) { return ingot_codec_get(ingot_codec_find(name)); }

static ingot_kv_fmt fmt_of(const ingot_codec *c, int dim, int group) {
    return (ingot_kv_fmt){.codec = ingot_codec_find(c->name), .dim = dim, .group = group};
}

static size_t row_bytes(const ingot_codec *c, int dim, int group) {
    const ingot_kv_fmt f = fmt_of(c, dim, group);
    return c->block_bytes(&f);
}

static void encode(const ingot_codec *c, const float *x, int dim, int group, void *row) {
    const ingot_kv_fmt f = fmt_of(c, dim, group);
    c->encode(&f, x, dim, 0, 1, row);
}

static void decode(const ingot_codec *c, const void *row, int dim, int group, float *x) {
    const ingot_kv_fmt f = fmt_of(c, dim, group);
    c->decode(&f, row, x);
}

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
    CHECK_INT(row_bytes(codec("q8_0"), 32, 0), 34);
    encode(codec("q8_0"), x, 32, 0, row);
    decode(codec("q8_0"), row, 32, 0, y);
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
    CHECK_INT(row_bytes(codec("q8_0"), 48, 0), 34 + 18);
    encode(codec("q8_0"), x, 48, 0, row);
    static const int codes[5] = {127, 1, -1, 3, -3};
    for (int i = 0; i < 5; i++) CHECK_INT((int8_t)row[2 + i], codes[i]);
    CHECK_INT((int8_t)row[34 + 2 + 8], 127); /* the short block has a step of its own */
}

TEST("codec/int4 codes of the worked example") {
    float x[16] = {-1, .25f, 2, .95f, -.35f, 1.72f, 0, .6f, -1, .25f, 2, .95f, -.35f, 1.72f, 0, .6f}, y[16];
    static const int codes[8] = {0, 6, 15, 10, 3, 14, 5, 8};
    static const double back[8] = {-1, .2, 2, 1, -.4, 1.8, 0, .6};
    uint8_t row[64];
    CHECK_INT(row_bytes(codec("int4"), 16, 16), 4 + 8);
    encode(codec("int4"), x, 16, 16, row);
    decode(codec("int4"), row, 16, 16, y);
    for (int i = 0; i < 16; i++) {
        CHECK_INT(nibble(row, 16, 16, i), codes[i % 8]);
        CHECK_NEAR(y[i], back[i % 8], 2e-3); /* scale .2 and mid .6 are rounded to halves */
    }
}

TEST("codec/int4 rounds half to even") {
    /* Step 1, mid 0: x - mid is the code less 8. */
    float x[16] = {-8, 7, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f};
    uint8_t row[64];
    encode(codec("int4"), x, 16, 16, row);
    CHECK_NEAR(ingot_f16_to_f32(half_at(row)), 1, 0);
    CHECK_NEAR(ingot_f16_to_f32(half_at(row + 2)), 0, 0);
    static const int codes[8] = {0, 15, 8, 10, 10, 8, 6, 6};
    for (int i = 0; i < 8; i++) CHECK_INT(nibble(row, 16, 16, i), codes[i]);
}

TEST("codec/int4 gives constant and ragged groups back") {
    float x[80], y[80];
    uint8_t row[128];
    for (int i = 0; i < 80; i++) x[i] = i < 32 ? 0.3f : i < 64 ? (float)(i - 40) : (i & 1 ? 7.0f : 5.0f);
    CHECK_INT(row_bytes(codec("int4"), 80, 32), 3 * 4 + 40);
    encode(codec("int4"), x, 80, 32, row);
    decode(codec("int4"), row, 80, 32, y);
    for (int i = 0; i < 32; i++) {
        CHECK_INT(nibble(row, 80, 32, i), 8);
        CHECK_NEAR(y[i], ingot_f16_to_f32(ingot_f32_to_f16(0.3f)), 0); /* scale 0: exactly the mid */
    }
    for (int i = 64; i < 80; i++) CHECK_NEAR(y[i], x[i], 2e-3); /* 5 and 7 only: the short group does not see its neighbours */
    encode(codec("int4"), x + 64, 16, 16, row);
    decode(codec("int4"), row, 16, 16, y);
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
        encode(c, x, dim, group, row);
        decode(c, row, dim, group, y);
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

TEST("codec/the registry has bounds") {
    CHECK(ingot_codec_get(-1) == NULL && ingot_codec_get(INGOT_N_CODECS) == NULL);
    CHECK_INT(ingot_codec_find("q9"), -1);
    for (int c = 0; c < INGOT_N_CODECS; c++) CHECK_INT(ingot_codec_find(ingot_codec_get(c)->name), c);
}
