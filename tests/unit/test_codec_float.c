/* FP8 E4M3 and FP4 E2M1: conversions against their definition, and the codecs fp8, mxfp4, nvfp4. */
#include "codec/float_bits.h"
#include "codec/shape.h"
#include "codec_rows.h"

/* 1 sign, 4 exponent (bias 7), 3 mantissa. */
static double e4m3_value(int c) {
    const int e = c >> 3 & 15, m = c & 7;
    const double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return c & 0x80 ? -v : v;
}

/* 1 sign, 2 exponent (bias 1), 1 mantissa. */
static double e2m1_value(int c) {
    const int e = c >> 1 & 3, m = c & 1;
    const double v = e ? ldexp(2 + m, e - 2) : m * .5;
    return c & 8 ? -v : v;
}

TEST("codec float/E4M3 of the published values") {
    static const struct { float x; int code; } want[] = {
        {1.0f, 0x38},  {.1f, 0x1d},   {-.1f, 0x9d},   {3.3f, 0x45},    {17, 0x58},     {19, 0x5a},    {448, 0x7e},     {465, 0x7e},
        {500, 0x7e},   {0x1p-9f, 1},  {0x1p-10f, 0},  {.0012f, 1},     {-240, 0xf7},   {1e30f, 0x7e}, {-1e30f, 0xfe},  {0, 0},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        test_case("%g", (double)want[i].x);
        CHECK_INT(ingot_f32_to_e4m3(want[i].x), want[i].code);
    }
    CHECK_NEAR(ingot_e4m3_to_f32(0x1d), .1015625, 0);
}

/* All codes, the midpoints between neighbours and the floats beside them. */
TEST("codec float/E4M3 rounds to nearest, half to even") {
    for (int c = 0; c < 256; c++) {
        test_case("code %02x", c);
        CHECK_NEAR(ingot_levels_e4m3[c], e4m3_value(c), 0);
        CHECK_NEAR(ingot_e4m3_to_f32((uint8_t)c), e4m3_value(c), 0);
        CHECK((signbit(ingot_e4m3_to_f32((uint8_t)c)) != 0) == (c >= 128));
        if ((c & 0x7f) >= 0x7e) continue;
        const float here = (float)e4m3_value(c), tie = (float)((e4m3_value(c) + e4m3_value(c + 1)) / 2);
        CHECK_INT(ingot_f32_to_e4m3(here), c);
        CHECK_INT(ingot_f32_to_e4m3(tie), c & 1 ? c + 1 : c);
        CHECK_INT(ingot_f32_to_e4m3(nextafterf(tie, here)), c);
        CHECK_INT(ingot_f32_to_e4m3(nextafterf(tie, 2 * tie)), c + 1);
    }
}

TEST("codec float/E2M1 rounds to nearest, half to even") {
    for (int c = 0; c < 16; c++) {
        test_case("code %x", c);
        CHECK_NEAR(ingot_levels_e2m1[c], e2m1_value(c), 0);
        const int sign = c & 8;
        if (c == 8) continue; /* -0 is never made */
        CHECK_INT(ingot_f32_to_e2m1((float)e2m1_value(c)), c);
        if ((c & 7) == 7) continue;
        const float tie = (float)((e2m1_value(c) + e2m1_value(c + 1)) / 2);
        CHECK_INT(ingot_f32_to_e2m1(tie), c & 1 ? c + 1 : c);
        CHECK_INT(ingot_f32_to_e2m1(nextafterf(tie, 0)), c);
        CHECK_INT(ingot_f32_to_e2m1(nextafterf(tie, 2 * tie)), c + 1);
        CHECK_INT(ingot_f32_to_e2m1(sign ? -1e30f : 1e30f), sign | 7);
    }
    CHECK_INT(ingot_f32_to_e2m1(-.25f), 0);
    CHECK_INT(ingot_f32_to_e2m1(-0.0f), 0);
}

TEST("codec float/fp8 scales the largest element to 448") {
    const ingot_kv_fmt f = codec_row_fmt("fp8", 16, 0);
    float x[16] = {7, -3.5f, 1.75f, 0.1f, 7.0f / 448, 7.0f / 448 * 0x1p-9f}, y[16];
    static const int codes[7] = {0x7e, 0xf6, 0x6e, 0x4d, 0x38, 0x01, 0x00}; /* .1 * 64 = 6.4 is nearest to 6.5 */
    uint8_t row[64];
    CHECK_INT(codec_row_bytes(&f), 18);
    codec_row_encode(&f, x, row);
    CHECK_NEAR(half_at(row), 0x1p-6, 0);
    for (int i = 0; i < 7; i++) CHECK_INT(row[2 + i], codes[i]);
    codec_row_decode(&f, row, y);
    for (int i = 0; i < 16; i++) CHECK_NEAR(y[i], e4m3_value(row[2 + i]) / 64, 0);
    /* With a scale of 1 the codes are the plain conversion. */
    float one[16] = {448, 1.0f, .1f, -.1f, 3.3f, 17, 19, 0x1p-9f, 0x1p-10f, .0012f, -240};
    static const int plain[11] = {0x7e, 0x38, 0x1d, 0x9d, 0x45, 0x58, 0x5a, 0x01, 0x00, 0x01, 0xf7};
    codec_row_encode(&f, one, row);
    for (int i = 0; i < 11; i++) CHECK_INT(row[2 + i], plain[i]);
}

/* Scale and codes of the MX specification, and its nearest elements, found by trying all. */
static int nearest_e2m1(double x) {
    int best = 0;
    for (int c = 1; c < 16; c++) {
        const double d = fabs(e2m1_value(c) - x), b = fabs(e2m1_value(best) - x);
        if (d < b || (d == b && !(c & 1) && (best & 1))) best = c;
    }
    return best == 8 ? 0 : best;
}

TEST("codec float/mxfp4 follows the rules of OCP MX") {
    ingot_rng r = {31};
    for (int n = 0; n < 3000; n++) {
        const ingot_kv_fmt f = codec_row_fmt("mxfp4", n % 2 ? 48 : 64, 0);
        float x[64], y[64];
        uint8_t row[64];
        int exponent;
        const int magnitude = (int)(ingot_rng_next(&r) % 40) - 20;
        for (int i = 0; i < f.dim; i++) {
            x[i] = ldexpf((float)ingot_rng_normal(&r), magnitude);
            if (n % 3 == 0) x[i] = ldexpf(rintf(ldexpf(x[i], 2 - magnitude)), magnitude - 2); /* quarters, many of them halfway */
        }
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        test_case("vector %d", n);
        for (int at = 0, g = 0; at < f.dim; at += 32, g++) {
            const int block = f.dim - at < 32 ? f.dim - at : 32;
            const uint8_t *b = row + 17 * g;
            double top = 0;
            for (int i = 0; i < block; i++) if (fabs((double)x[at + i]) > top) top = fabs((double)x[at + i]);
            frexp(top, &exponent); /* top = fraction in [1/2, 1) times 2^exponent */
            CHECK_INT(b[0], exponent - 1 - 2 + 127);
            for (int i = 0; i < block; i++) {
                const int code = b[1 + i % (block / 2)] >> (i >= block / 2 ? 4 : 0) & 15, want = nearest_e2m1(ldexp((double)x[at + i], 127 - b[0]));
                if (code != want) CHECK_INT(code, want);
                if ((double)y[at + i] != ldexp(e2m1_value(code), b[0] - 127)) CHECK(!"decoded to something else");
            }
        }
    }
}

TEST("codec float/nvfp4 rounds the scale first and the codes against it") {
    ingot_rng r = {32};
    for (int n = 0; n < 2000; n++) {
        const ingot_kv_fmt f = codec_row_fmt("nvfp4", 80, 0);
        float x[80], y[80];
        uint8_t row[64];
        const int magnitude = (int)(ingot_rng_next(&r) % 22) - 10;
        for (int i = 0; i < 80; i++) x[i] = ldexpf((float)ingot_rng_normal(&r), magnitude);
        CHECK_INT(codec_row_bytes(&f), 5 + 40);
        codec_row_encode(&f, x, row);
        codec_row_decode(&f, row, y);
        test_case("vector %d", n);
        for (int g = 0; g < 5; g++) {
            float top = 0;
            for (int i = 0; i < 16; i++) if (fabsf(x[16 * g + i]) > top) top = fabsf(x[16 * g + i]);
            CHECK_INT(row[g], ingot_f32_to_e4m3(top / 6));
            for (int i = 16 * g; i < 16 * g + 16; i++) {
                const int code = codec_bits_at(row + 5, 4, i), want = row[g] ? nearest_e2m1((double)(x[i] / (float)e4m3_value(row[g]))) : 0;
                if (code != want) CHECK_INT(code, want);
                if ((double)y[i] != e2m1_value(code) * e4m3_value(row[g])) CHECK(!"decoded to something else");
            }
        }
    }
}

TEST("codec float/blocks beyond the largest scale are clamped, below the smallest they are zero") {
    const ingot_kv_fmt f = codec_row_fmt("nvfp4", 32, 0);
    float x[32], y[32];
    uint8_t row[64];
    for (int i = 0; i < 16; i++) x[i] = i % 2 ? -1e6f : 1e6f, x[16 + i] = 0.0058f; /* 6 * 2^-10 = .00586 is half of the smallest scale's 6 */
    codec_row_encode(&f, x, row);
    codec_row_decode(&f, row, y);
    for (int i = 0; i < 16; i++) {
        CHECK_NEAR(y[i], i % 2 ? -2688 : 2688, 0);
        CHECK_NEAR(y[16 + i], 0, 0);
    }
}

TEST("codec float/error on normal data") {
    const ingot_kv_fmt fp8 = codec_row_fmt("fp8", 128, 0), nvfp4 = codec_row_fmt("nvfp4", 128, 0);
    CHECK_NEAR(codec_noise_error(&fp8, 6000, 0), .000661, .000007);
    CHECK_NEAR(codec_noise_error(&nvfp4, 6000, 0), .00904, .00009);
}
