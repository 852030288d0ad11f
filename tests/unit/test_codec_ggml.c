/* ggml's block formats: bytes of its reference quantiser, short last blocks, every code, error. */
#include "codec/pack.h"
#include "codec_rows.h"

static const char *const types[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4"};
enum { N_TYPES = sizeof types / sizeof *types };

/* Bell-shaped numbers of 24 bits, the same in every language: four sums of 22 bits, centred, times 2^(shift - 22). */
static void bell(ingot_rng *r, float *x, int n, int shift) {
    for (int i = 0; i < n; i++) {
        const uint64_t a = ingot_rng_next(r), b = ingot_rng_next(r), mask = 0x3fffff;
        const int64_t v = (int64_t)((a & mask) + (a >> 22 & mask) + (b & mask) + (b >> 22 & mask)) - (1 << 23);
        x[i] = ldexpf((float)v, shift - 22);
    }
}

/* Bytes that ggml's reference quantisers (quantize_row_*_ref of ggml-base 0.25.3) made of bell(seed 7, 64 numbers). */
TEST("codec ggml/two blocks have the bytes of ggml's reference quantisers") {
    static const char *const want[N_TYPES] = {
        "8231cc8b6e01348c5277bb47c12b686795323bb2b4786906868c8d396544669779e77a53",
        "383182bddc8b6f01349d5288bc58c12b7978a632f831f6bc3b7795f8697361c59abb9958860885ac",
        "822d271923458806cc026808a4ef669f7246d0de3b543baee650512868e0c30d1bf81a63c978bb2ee1dee495",
        "0d2d82bda73ba345aa18df02692ab50088909247e2e04c64c72df6bc19af8cd777fe2bf1d3e5d38b257633b00c000a5a",
        "8d213c2d638fc340a3f633f6932c03f4d59e4200dd81ae01d3f32dc538a0e8e616ac48224203e91a25c2b1ea353c2711f610e357ce0c1f7ffc05fc4c1d4726ed129b1234",
        "a521dc8b5e01238d4277bc37c11b6867a42115a2c3785a06857d8e2a543355a669f66a42",
        "7d5504b6feed05ce9944d94ee4a0a92cee7dc5103a73040d0e6a355544a229e22b56",
    };
    for (int t = 0; t < N_TYPES; t++) {
        const ingot_kv_fmt f = codec_row_fmt(types[t], 64, 0);
        ingot_rng r = {7};
        float x[64];
        uint8_t row[CODEC_ROW_BYTES];
        char hex[2 * CODEC_ROW_BYTES + 1];
        test_case("%s", types[t]);
        bell(&r, x, 64, 0);
        codec_row_encode(&f, x, row);
        for (size_t i = 0; i < codec_row_bytes(&f); i++) snprintf(hex + 2 * i, 3, "%02x", row[i]);
        CHECK_STR(hex, want[t]);
    }
}

/* FNV-1a over ggml's bytes of 1024 blocks each of three magnitudes: bell(seed 11 + i, shift 0, -12, 12). */
TEST("codec ggml/3072 blocks have the bytes of ggml's reference quantisers") {
    static const uint64_t want[N_TYPES][3] = {
        {0xec2eeeb4be6a8b6c, 0x1b595f50e5766d84, 0x2431a5ac44c443bf}, {0x13279341a143611d, 0x31a9b72c6c3e6ad3, 0x510365a1c7065d39},
        {0x4138892dc9c07b3b, 0x6644c2da8d42fdae, 0x2e51d163b40ebe5f}, {0x10c4d0e20a232164, 0xf3c4b34c00b54ce9, 0xf28c8e635afb16cc},
        {0x4b912b02abb85a15, 0xb5f05046f6ccea3e, 0x7440da23684efa9b}, {0x6d21c40d563c628b, 0x460f3946342abbdf, 0xbf136a4cc605b265},
        {0xfff1185386477794, 0x6e243d9ad239aa6b, 0x6ad4c0b009a2aa05},
    };
    static const int shift[3] = {0, -12, 12};
    for (int t = 0; t < N_TYPES; t++) {
        const ingot_kv_fmt f = codec_row_fmt(types[t], 128, 0);
        for (int m = 0; m < 3; m++) {
            ingot_rng r = {11 + (uint64_t)m};
            uint64_t h = 0xcbf29ce484222325;
            test_case("%s, times 2^%d", types[t], shift[m]);
            for (int i = 0; i < 1024 / 4; i++) {
                float x[128];
                uint8_t row[CODEC_ROW_BYTES];
                bell(&r, x, 128, shift[m]);
                codec_row_encode(&f, x, row);
                for (size_t b = 0; b < codec_row_bytes(&f); b++) h = (h ^ row[b]) * 0x100000001b3;
            }
            CHECK(h == want[t][m]);
        }
    }
}

TEST("codec ggml/codes of the worked example") {
    static const float x8[8] = {.1f, -.7f, 1.25f, -1.6f, .35f, .9f, -.05f, 2.4f};
    static const struct { const char *name; double d, m; int code[9]; double back[8]; } want[] = {
        {"q4_0", -.3000488, 0, {8, 10, 4, 13, 7, 5, 8, 0, 8}, {0, -.600098, 1.200195, -1.500244, .300049, .900146, 0, 2.400391}},
        {"q5_0", -.1500244, 0, {15, 21, 8, 27, 14, 10, 16, 0, 16}, {0}},
        {"q5_1", .1290283, -1.5996094, {13, 7, 22, 0, 15, 19, 12, 31, 12}, {0}},
        {"q8_0", .018890381, 0, {5, -37, 66, -85, 19, 48, -3, 127, 0}, {.094452, -.698944, 1.246765, -1.605682, .358917, .906738, -.056671, 2.399078}},
    };
    for (size_t t = 0; t < sizeof want / sizeof *want; t++) {
        const ingot_kv_fmt f = codec_row_fmt(want[t].name, 32, 0);
        const bool q5 = want[t].name[1] == '5', q8 = want[t].name[1] == '8', has_min = want[t].m != 0;
        float x[32] = {0}, y[32];
        uint8_t row[64], code[32];
        test_case("%s", want[t].name);
        memcpy(x, x8, sizeof x8);
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        const uint8_t *nibbles = row + (has_min ? 4 : 2) + (q5 ? 4 : 0);
        CHECK_NEAR(half_at(row), want[t].d, 5e-8);
        if (has_min) CHECK_NEAR(half_at(row + 2), want[t].m, 5e-8);
        ingot_unpack_halves(nibbles, 32, code);
        for (int i = 0; i < 32; i++) {
            const int got = q8 ? (int8_t)row[2 + i] : q5 ? code[i] | codec_bits_at(nibbles - 4, 1, i) << 4 : code[i];
            CHECK_INT(got, want[t].code[i < 8 ? i : 8]);
            const int level = q8 || has_min ? got : got - (q5 ? 16 : 8);
            CHECK_NEAR(y[i], (double)(float)level * (double)half_at(row) + (has_min ? (double)half_at(row + 2) : 0), 1e-6);
            if (!q5) CHECK_NEAR(y[i], i < 8 ? want[t].back[i] : 0, 1e-6);
        }
    }
}

/* A last block of 16 holds what a block of 32 would whose other elements change nothing: zeros, or for the types with a minimum repeats. */
TEST("codec ggml/a short last block decodes as the same elements in a whole one") {
    for (int t = 0; t < N_TYPES; t++) {
        const ingot_kv_fmt f = codec_row_fmt(types[t], 48, 0), whole = codec_row_fmt(types[t], 64, 0);
        const bool has_min = types[t][3] == '1';
        ingot_rng r = {21};
        float x[64], y[48], z[64];
        uint8_t row[CODEC_ROW_BYTES];
        test_case("%s", types[t]);
        for (int n = 0; n < 50; n++) {
            bell(&r, x, 48, 0);
            for (int i = 48; i < 64; i++) x[i] = has_min ? x[i - 16] : 0.0f;
            codec_row_encode(&f, x, row);
            codec_row_decode(&f, row, y);
            codec_row_encode(&whole, x, row);
            codec_row_decode(&whole, row, z);
            CHECK_MEM(y, z, sizeof y);
        }
        const int bits = types[t][0] == 'q' ? types[t][1] - '0' : 4, header = types[t][0] == 'm' ? 1 : has_min ? 4 : 2;
        CHECK_INT(codec_row_bytes(&f), 2 * header + 48 * bits / 8);
    }
}

TEST("codec ggml/every code survives in every place of a block") {
    static const struct { const char *name; int n, first; } linear[] = {{"q4_0", 16, -8}, {"q4_1", 16, 0}, {"q5_0", 32, -16}, {"q5_1", 32, 0}};
    for (size_t t = 0; t < sizeof linear / sizeof *linear; t++) {
        const ingot_kv_fmt f = codec_row_fmt(linear[t].name, 32, 0);
        for (int shift = 0; shift < linear[t].n; shift++) {
            float x[32], y[32];
            uint8_t row[64];
            test_case("%s shift %d", linear[t].name, shift);
            for (int i = 0; i < 32; i++) x[i] = .5f * (float)((i + shift) % linear[t].n + linear[t].first);
            codec_row_encode(&f, x, row);
            codec_row_decode(&f, row, y);
            CHECK_MEM(y, x, sizeof x);
        }
    }
    const ingot_kv_fmt f = codec_row_fmt("q8_0", 32, 0);
    for (int shift = 0; shift < 254; shift++) {
        float x[32] = {127.0f}, y[32];
        uint8_t row[64];
        for (int i = 1; i < 32; i++) x[i] = (float)((i + shift) % 255 - 127);
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        CHECK_MEM(y, x, sizeof x);
    }
}

TEST("codec ggml/the first of two largest elements gets the lowest level") {
    for (int t = 0; t < 3; t += 2) {
        const ingot_kv_fmt f = codec_row_fmt(types[t], 32, 0);
        float x[32] = {.5f, 2, -2}, y[32];
        uint8_t row[64];
        test_case("%s", types[t]);
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        CHECK_NEAR(half_at(row), t ? -.125 : -.25, 0);
        CHECK_NEAR(y[1], 2, 0);
        CHECK_NEAR(y[2], t ? -1.875 : -1.75, 0); /* there is one level less on that side */
    }
}

TEST("codec ggml/q8_0 rounds half away from zero") {
    const ingot_kv_fmt f = codec_row_fmt("q8_0", 48, 0);
    float x[48] = {127.0f, 0.5f, -0.5f, 2.5f, -2.5f};
    static const int codes[5] = {127, 1, -1, 3, -3};
    uint8_t row[64];
    x[40] = 3.0f;
    codec_row_encode(&f, x, row);
    for (int i = 0; i < 5; i++) CHECK_INT((int8_t)row[2 + i], codes[i]);
    CHECK_INT((int8_t)row[34 + 2 + 8], 127); /* the short block has a step of its own */
}

/* By Monte Carlo elsewhere (q4_0 to q8_0); iq4_nl and mxfp4: with ggml's own bytes of 40000 vectors. */
TEST("codec ggml/error on normal data is the published one") {
    static const struct { const char *name; double want; } rows[] = {
        {"q4_0", .00737}, {"q4_1", .00612}, {"q5_0", .00182}, {"q5_1", .00143}, {"iq4_nl", .00619}, {"mxfp4", .01322},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ingot_kv_fmt f = codec_row_fmt(rows[i].name, 128, 0);
        test_case("%s", rows[i].name);
        CHECK_NEAR(codec_noise_error(&f, 6000, 0), rows[i].want, .01 * rows[i].want);
    }
    const ingot_kv_fmt q8 = codec_row_fmt("q8_0", 128, 0);
    CHECK_NEAR(codec_noise_error(&q8, 3000, 0), .000029, .0000005);
}
