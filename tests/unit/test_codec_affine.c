/* int2, int3, int4, int8: worked examples, rounding, packing of every width, ragged and constant groups, error. */
#include "codec/pack.h"
#include "codec_rows.h"

static const struct { const char *name; int bits; } types[] = {{"int2", 2}, {"int3", 3}, {"int4", 4}, {"int8", 8}};

static const uint8_t *codes_of(const ingot_kv_fmt *f, const uint8_t *row) { return row + 4 * ((f->dim + f->group - 1) / f->group); }

TEST("codec affine/codes of the worked example") {
    static const float x8[8] = {-1, .25f, 2, .95f, -.35f, 1.72f, 0, .6f};
    static const int codes2[8] = {0, 1, 3, 2, 1, 3, 1, 2}, codes4[8] = {0, 6, 15, 10, 3, 14, 5, 8};
    static const double back2[8] = {-1, 0, 2, 1, 0, 2, 0, 1}, back4[8] = {-1, .2, 2, 1, -.4, 1.8, 0, .6};
    float x[16], y[16];
    uint8_t row[64];
    for (int i = 0; i < 16; i++) x[i] = x8[i % 8];
    for (int bits = 2; bits <= 4; bits += 2) {
        const ingot_kv_fmt f = codec_row_fmt(bits == 2 ? "int2" : "int4", 16, 16);
        test_case("%d bits", bits);
        CHECK_INT(codec_row_bytes(&f), 4 + 2 * bits);
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        for (int i = 0; i < 16; i++) {
            CHECK_INT(codec_bits_at(row + 4, bits, i), (bits == 2 ? codes2 : codes4)[i % 8]);
            CHECK_NEAR(y[i], (bits == 2 ? back2 : back4)[i % 8], bits == 2 ? 0 : 2e-3); /* .2 and .6 are no halves */
        }
    }
}

/* Bytes that codes were written to by hand: 3 bits take 24 bits for 8 codes. */
TEST("codec affine/the row of int3 byte by byte") {
    static const uint8_t want[10] = {0x00, 0x3c, 0x00, 0x00, 0x88, 0xc6, 0xfa, 0x77, 0x39, 0x05}; /* scale 1, mid 0, codes 0 to 7, 7 to 0 */
    float x[16], y[16];
    uint8_t row[10];
    const ingot_kv_fmt f = codec_row_fmt("int3", 16, 16);
    for (int i = 0; i < 8; i++) x[i] = (float)(i - 4), x[8 + i] = (float)(3 - i);
    CHECK_INT(codec_row_bytes(&f), 10);
    codec_row_encode(&f, x, row);
    CHECK_MEM(row, want, 10);
    codec_row_decode(&f, row, y);
    for (int i = 0; i < 16; i++) CHECK_NEAR(y[i], (double)x[i], 0);
}

TEST("codec affine/codes round half to even") {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) { /* step 1, mid 0: the value is the code less half of the levels */
        const ingot_kv_fmt f = codec_row_fmt(types[t].name, 16, 16);
        const int half = 1 << (types[t].bits - 1);
        float x[16] = {(float)-half, (float)(half - 1), .5f, -.5f, -1.5f};
        uint8_t row[64];
        test_case("%s", types[t].name);
        if (half > 2) x[5] = 1.5f, x[6] = 2.5f, x[7] = -2.5f;
        codec_row_encode(&f, x, row);
        CHECK_NEAR(half_at(row), 1, 0);
        CHECK_NEAR(half_at(row + 2), 0, 0);
        static const int want[8] = {0, 0, 0, 0, -2, 2, 2, -2};
        for (int i = 2; i < (half > 2 ? 8 : 5); i++) CHECK_INT(codec_bits_at(row + 4, types[t].bits, i) - half, want[i]);
        CHECK_INT(codec_bits_at(row + 4, types[t].bits, 0), 0);
        CHECK_INT(codec_bits_at(row + 4, types[t].bits, 1), 2 * half - 1);
    }
}

TEST("codec affine/every width packs and unpacks every code at every place") {
    enum { N = 40 };
    for (int bits = 1; bits <= 8; bits++) {
        for (int code = 0; code < 1 << bits; code++) {
            for (int at = 0; at < N; at++) {
                for (int rest = 0; rest < 2; rest++) { /* among zeros and among ones */
                    uint8_t in[N], back[N], out[N + 1];
                    bool right = true;
                    memset(in, rest ? (1 << bits) - 1 : 0, N);
                    memset(out, 0xa5, sizeof out);
                    in[at] = (uint8_t)code;
                    ingot_pack_codes(in, N, bits, out);
                    ingot_unpack_codes(out, N, bits, back);
                    for (int i = 0; i < N; i++) right &= codec_bits_at(out, bits, i) == in[i] && back[i] == in[i];
                    if (!right || out[N * bits / 8] != 0xa5) CHECK(!"a code changed or a byte too many was written");
                }
            }
        }
    }
    for (int n = 1; n < 17; n++) { /* unused bits are 0 */
        uint8_t in[16], out[6];
        memset(in, 7, sizeof in);
        memset(out, 0xa5, sizeof out);
        ingot_pack_codes(in, n, 3, out);
        if (n * 3 % 8) CHECK_INT(out[n * 3 / 8] >> n * 3 % 8, 0);
        if (n * 3 < 41) CHECK_INT(out[(n * 3 + 7) / 8], 0xa5);
    }
}

TEST("codec affine/every code survives in every place of a row") {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const int bits = types[t].bits, half = 1 << (bits - 1), group = bits == 8 ? 256 : 32;
        const ingot_kv_fmt f = codec_row_fmt(types[t].name, 256, group);
        float x[256], y[256];
        uint8_t row[CODEC_ROW_BYTES];
        for (int shift = 0; shift < 2 * half; shift++) { /* steps of 1/4 around 10: every group holds both ends */
            test_case("%s shift %d", types[t].name, shift);
            for (int i = 0; i < 256; i++) x[i] = 10 + .25f * (float)((i + shift) % (2 * half) - half);
            codec_row_encode(&f, x, row);
            codec_row_decode(&f, row, y);
            for (int i = 0; i < 256; i++)
                if (codec_bits_at(codes_of(&f, row), bits, i) != (i + shift) % (2 * half) || y[i] != x[i]) CHECK_NEAR(y[i], (double)x[i], -1);
            CHECK_NEAR(half_at(row), .25, 0);
        }
    }
}

TEST("codec affine/constant and ragged groups come back") {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const ingot_kv_fmt f = codec_row_fmt(types[t].name, 80, 32);
        const int half = 1 << (types[t].bits - 1);
        float x[80], y[80];
        uint8_t row[128];
        test_case("%s", types[t].name);
        for (int i = 0; i < 80; i++) x[i] = i < 32 ? 0.3f : i < 64 ? (float)(i - 40) : i & 1 ? 7.0f : 5.0f;
        CHECK_INT(codec_row_bytes(&f), 3 * 4 + 10 * types[t].bits);
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        for (int i = 0; i < 32; i++) {
            CHECK_INT(codec_bits_at(codes_of(&f, row), types[t].bits, i), half);
            CHECK_NEAR(y[i], (double)half_at(row + 6), 0); /* scale 0: exactly the mid */
        }
        CHECK_NEAR(half_at(row + 6), .3, 1e-4);
        for (int i = 64; i < 80; i++) CHECK_NEAR(y[i], (double)x[i], 2e-3); /* 5 and 7 only: the short group does not see its neighbours */
    }
}

/* Relative mean squared error of affine codes on normal data by Monte Carlo elsewhere, minimum and step per group. */
TEST("codec affine/error on normal data is the published one") {
    static const struct { const char *name; int group; double want; } rows[] = {
        {"int2", 32, .1542}, {"int2", 64, .2023}, {"int2", 128, .2503}, {"int3", 32, .0281},  {"int3", 128, .0457},
        {"int4", 32, .00611}, {"int4", 64, .00803}, {"int4", 128, .00995},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ingot_kv_fmt f = codec_row_fmt(rows[i].name, 128, rows[i].group);
        test_case("%s group %d", rows[i].name, rows[i].group);
        CHECK_NEAR(codec_noise_error(&f, 6000, 0), rows[i].want, .01 * rows[i].want);
    }
    const ingot_kv_fmt int4 = codec_row_fmt("int4", 128, 32), int8 = codec_row_fmt("int8", 128, 32);
    CHECK_NEAR(codec_noise_error(&int4, 2000, 10), .00611, .0001); /* an offset costs nothing */
    CHECK(codec_noise_error(&int8, 2000, 0) < .00611 / 250);       /* (15 / 255)^2 */
}

TEST("codec affine/groups that are no multiple of 16 are refused") {
    ingot_kv_fmt f = codec_row_fmt("int3", 128, 24);
    const ingot_codec *c = ingot_codec_get(f.codec);
    CHECK(c->check(&f) != NULL);
    f.group = 0;
    CHECK(c->check(&f) != NULL);
    f.group = 112; /* a head of 112 clips 128 to it */
    CHECK(c->check(&f) == NULL);
}
