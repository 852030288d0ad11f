/* The TurboQuant family against worked examples: codes, bytes, scales, scores, a whole attention; and the vectors that break careless ones. */
#include "base/hadamard.h"
#include "base/half.h"
#include "base/rng.h"
#include "codec/shape.h"
#include "codec/tq_common.h"
#include "codec/tq_prod.h"
#include "test.h"

static ingot_kv_fmt fmt(const char *name, int dim, int rule) { return (ingot_kv_fmt){.codec = ingot_codec_find(name), .dim = dim, .variant = rule}; }

static const ingot_codec *codec(const ingot_kv_fmt *f) { return ingot_codec_get(f->codec); }

/* y = H (s o x) / sqrt(n) with signs of the example's own. */
static void rotate(float *y, const float *x, const char *signs, int n) {
    for (int i = 0; i < n; i++) y[i] = signs[i] == '-' ? -x[i] : x[i];
    ingot_hadamard(y, n, false);
}

static double dot(const float *a, const float *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static double relative_error(const float *got, const float *want, int n) {
    double e = 0;
    for (int i = 0; i < n; i++) e += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
    return e / dot(want, want, n);
}

static const float example_x[8] = {3, -1, .5f, 2, -.25f, 1.5f, -2, .75f}, example_q[8] = {.5f, 1, -1.5f, .25f, 2, -.5f, 1, 0};
static const char example_signs[] = "+-++-+--";

/* The Lloyd-Max tables as published, to six digits; those of the library are within .06 % in error, and integers. */
static const float published2[4] = {-1.510418f, -0.452780f, 0.452780f, 1.510418f};
static const float published3[8] = {-2.151946f, -1.343909f, -0.756005f, -0.245094f, 0.245094f, 0.756005f, 1.343909f, 2.151946f};
static const float published4[16] = {-2.732590f, -2.069017f, -1.618046f, -1.256231f, -0.942340f, -0.656759f, -0.388048f, -0.128395f,
                                     0.128395f,  0.388048f,  0.656759f,  0.942340f,  1.256231f,  1.618046f,  2.069017f,  2.732590f};

static const struct example {
    ingot_tq_book published;
    uint8_t code[8], packed[4];
    double error, scale[4], score[4]; /* by rule; score of ls is left out */
} examples[3] = {
    {{2, published2, 0}, {3, 2, 2, 1, 2, 1, 2, 3}, {0x6b, 0xe6}, .081168, {1.625, 1.909654, 1.843509, 1.978173}, {-2.472257, -2.905326, 0, -3.009570}},
    {{3, published3, 0}, {7, 4, 4, 3, 5, 3, 4, 6}, {0x27, 0xd7, 0xd1}, .022808, {1.625, 1.700096, 1.681548, 1.718849}, {-3.715383, -3.887082, 0, -3.929959}},
    {{4, published4, 0}, {14, 9, 9, 7, 10, 7, 8, 13}, {0x9e, 0x79, 0x7a, 0xd8}, .003986, {1.625, 1.658416, 1.655387, 1.661452}, {-3.077492, -3.140778, 0, -3.146526}},
};

TEST("codec/TurboQuant codes, scales and scores of the worked example") {
    float y[8], q[8];
    rotate(y, example_x, example_signs, 8);
    rotate(q, example_q, example_signs, 8);
    for (int i = 0; i < 3; i++) {
        const struct example *e = &examples[i];
        for (int rule = 0; rule < 4; rule++) {
            uint8_t code[8];
            float back[8];
            test_case("%d bits, %s", e->published.bits, ingot_tq_rules[rule]);
            const double s = ingot_tq_quantise(&e->published, (ingot_tq_rule)rule, y, 8, code);
            CHECK_MEM(code, e->code, 8);
            CHECK_NEAR(s, e->scale[rule], 1e-5);
            for (int j = 0; j < 8; j++) back[j] = (float)s * e->published.level[code[j]];
            if (rule == INGOT_TQ_PAPER) CHECK_NEAR(relative_error(back, y, 8), e->error, 1e-5);
            if (rule != INGOT_TQ_LS) CHECK_NEAR(dot(q, back, 8), e->score[rule], 1e-5);
            if (rule == INGOT_TQ_UNBIASED) CHECK_NEAR(dot(y, back, 8), dot(y, y, 8), 1e-5);
        }
    }
}

TEST("codec/tq2, tq3 and tq4 store the bytes of the worked example") {
    float y[8];
    rotate(y, example_x, example_signs, 8);
    for (int i = 0; i < 3; i++)
        for (int rule = 0; rule < 4; rule++) {
            const struct example *e = &examples[i];
            char name[8];
            uint8_t row[8];
            float back[8];
            snprintf(name, sizeof name, "tq%d", e->published.bits);
            const ingot_kv_fmt f = fmt(name, 8, rule);
            test_case("%s, %s", name, ingot_tq_rules[rule]);
            CHECK_INT(codec(&f)->block_bytes(&f), 2 + e->published.bits);
            codec(&f)->encode(&f, y, 8, 0, 1, row);
            CHECK_MEM(row + 2, e->packed, (size_t)e->published.bits);
            const double s = (double)ingot_f16_to_f32((uint16_t)(row[0] | row[1] << 8));
            CHECK_NEAR(s, e->scale[rule], e->scale[rule] * 2e-3); /* f16, and levels that are not quite the published ones */
            codec(&f)->decode(&f, row, back);
            for (int j = 0; j < 8; j++) CHECK_NEAR(back[j], s * (double)ingot_tq_lloyd_max[e->published.bits].level[e->code[j]], 1e-6);
        }
}

TEST("codec/TurboQuant attention of three tokens from end to end") {
    static const float k[3][4] = {{1, 2, -1, .5f}, {-1, .5f, .25f, 2}, {.3f, -.7f, 1.2f, .1f}};
    static const float v[3][4] = {{.5f, -1, 2, 0}, {1, 1, -.5f, .25f}, {-2, .3f, .4f, 1}};
    static const float q[4] = {.8f, -.4f, .6f, 1.2f};
    static const uint8_t k_codes[3][4] = {{2, 3, 0, 3}, {2, 0, 0, 2}, {1, 0, 3, 2}}, v_codes[3][4] = {{1, 0, 3, 2}, {2, 3, 1, 3}, {1, 0, 0, 1}};
    static const double k_scale[3] = {.956759, 1.065904, .655646}, v_scale[3] = {1.145644, .760345, 1.145644}, scores[3] = {.267196, .804612, .524836};
    static const double want[4] = {-.235788, .188235, .414406, .538516};
    const ingot_tq_book book = {2, published2, 0};
    float qr[4], y[4], out[4] = {0};
    double p[3], sum = 0;
    uint8_t code[3][4];
    rotate(qr, q, "+--+", 4);
    for (int t = 0; t < 3; t++) {
        rotate(y, k[t], "+--+", 4);
        const double s = ingot_tq_quantise(&book, INGOT_TQ_UNBIASED, y, 4, code[t]);
        CHECK_NEAR(s, k_scale[t], 1e-5);
        CHECK_MEM(code[t], k_codes[t], 4);
        p[t] = 0;
        for (int j = 0; j < 4; j++) p[t] += s * (double)qr[j] * (double)published2[code[t][j]] / 2;
        CHECK_NEAR(p[t], scores[t], 1e-5);
        sum += p[t] = exp(p[t]);
    }
    for (int t = 0; t < 3; t++) {
        rotate(y, v[t], "+--+", 4);
        const double s = ingot_tq_quantise(&book, INGOT_TQ_PAPER, y, 4, code[t]);
        CHECK_NEAR(s, v_scale[t], 1e-5);
        CHECK_MEM(code[t], v_codes[t], 4);
        for (int j = 0; j < 4; j++) out[j] += (float)(p[t] / sum * s * (double)published2[code[t][j]]);
    }
    ingot_hadamard(out, 4, true);
    for (int j = 0; j < 4; j++) CHECK_NEAR("+--+"[j] == '-' ? -out[j] : out[j], want[j], 1e-5);
}

TEST("codec/TurboQuant survives spikes, constants and zeros") {
    ingot_rng r = {42};
    static const double constant[3] = {.1060, .1075, .1169};
    static const int rules[3] = {INGOT_TQ_PAPER, INGOT_TQ_MATCHED, INGOT_TQ_UNBIASED};
    float spike[128] = {1}, ones[128], back[128];
    for (int i = 0; i < 128; i++) ones[i] = ingot_rng_next(&r) >> 63 ? -1.0f : 1.0f;
    ingot_hadamard(spike, 128, false); /* all channels equal: 1 / sqrt(128) */
    ingot_hadamard(ones, 128, false);
    for (int i = 0; i < 3; i++) {
        const ingot_kv_fmt f = fmt("tq2", 128, rules[i]);
        uint8_t row[34];
        test_case("%s", ingot_tq_rules[rules[i]]);
        codec(&f)->encode(&f, spike, 128, 0, 1, row);
        codec(&f)->decode(&f, row, back);
        CHECK_NEAR(relative_error(back, spike, 128), rules[i] == INGOT_TQ_PAPER ? .2605 : 0, 1e-3);
        codec(&f)->encode(&f, ones, 128, 0, 1, row);
        codec(&f)->decode(&f, row, back);
        CHECK_NEAR(relative_error(back, ones, 128), constant[i], 2e-4);
    }
}

static const char *const family[] = {
    "tq1", "tq2", "tq3", "tq4", "tq5", "tq6", "tq2_5", "tq3_5", "rvq1", "rvq2", "rvqf1", "rvqf2", "tqprod2", "tqprod3", "tqprod4"};
enum { FAMILY = sizeof family / sizeof *family };

TEST("codec/TurboQuant's family decodes any finite vector to finite numbers") {
    static const float size[] = {0, 1e-45f, 1e-38f, 1e-5f, 1, 60000, 65504, 1e6f, 3.4e38f};
    ingot_rng r = {5};
    for (int i = 0; i < FAMILY; i++)
        for (size_t s = 0; s < sizeof size / sizeof *size; s++)
            for (int sparse = 0; sparse < 2; sparse++)
                for (int rule = 0; rule < (codec(&(ingot_kv_fmt){.codec = ingot_codec_find(family[i])})->variants ? 4 : 1); rule++) {
                    const ingot_kv_fmt f = fmt(family[i], 80, rule);
                    float x[80] = {0}, y[80];
                    uint8_t row[256];
                    bool finite = true, zero = true;
                    for (int j = 0; j < (sparse ? 1 : 80); j++) x[j] = (ingot_rng_next(&r) >> 63 ? -size[s] : size[s]) * (float)(1 - j / 90.0);
                    codec(&f)->encode(&f, x, 80, 0, 1, row);
                    codec(&f)->decode(&f, row, y);
                    for (int j = 0; j < 80; j++) finite = finite && isfinite(y[j]), zero = zero && y[j] == 0;
                    test_case("%s rule %d, %g %s", family[i], rule, (double)size[s], sparse ? "in one channel" : "everywhere");
                    CHECK(finite);
                    if (size[s] < 1e-20f) CHECK(zero);
                    else CHECK(!zero);
                    if (size[s] == 3.4e38f && !sparse) CHECK(fabsf(y[0]) > 20000); /* clipped, not wrapped */
                    if (size[s] == 1 && !sparse && strncmp(family[i], "tqprod", 6)) CHECK(relative_error(y, x, 80) < .5);
                }
}

TEST("codec/TurboQuant rows have the documented sizes, and the shape decodes them") {
    static const struct { const char *name; int dim, bytes; } sizes[] = {
        {"tq1", 64, 10}, {"tq2", 64, 18}, {"tq3", 64, 26}, {"tq4", 64, 34}, {"tq1", 80, 12}, {"tq3", 80, 32}, {"tq3", 96, 38}, {"tq4", 128, 66}, {"tq5", 128, 82},
        {"tq6", 128, 98}, {"tq2", 192, 50}, {"tq4", 256, 130}, {"rvq1", 128, 34}, {"rvq2", 128, 66}, {"rvqf1", 128, 34}, {"rvqf2", 64, 34}, {"tq2_5", 128, 40},
        {"tq3_5", 128, 56}, {"tq2_5", 64, 22}, {"tq2_5", 80, 27}, {"tq3_5", 80, 37}, {"tq2_5", 16, 4 + 2 + 3}, {"tqprod2", 128, 36}, {"tqprod3", 128, 52},
        {"tqprod4", 128, 68}, {"tqprod4", 64, 36}};
    ingot_rng r = {6};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const ingot_kv_fmt f = fmt(sizes[i].name, sizes[i].dim, 0);
        ingot_code_shape shape;
        float x[256], direct[256], shaped[256];
        uint8_t row[256];
        test_case("%s dim %d", sizes[i].name, sizes[i].dim);
        CHECK_INT(codec(&f)->block_bytes(&f), sizes[i].bytes);
        CHECK(codec(&f)->check(&f) == NULL);
        if (!codec(&f)->shape) continue;
        for (int j = 0; j < f.dim; j++) x[j] = (float)ingot_rng_normal(&r);
        codec(&f)->encode(&f, x, f.dim, 0, 1, row);
        codec(&f)->decode(&f, row, direct);
        codec(&f)->shape(&f, &shape);
        ingot_shape_decode(&shape, &f, row, shaped);
        CHECK_MEM(shaped, direct, sizeof(float) * (size_t)f.dim);
    }
}

TEST("codec/TurboQuant's family refuses head sizes it cannot do") {
    for (int i = 0; i < FAMILY; i++) {
        const ingot_kv_fmt small = fmt(family[i], 8, 0), odd = fmt(family[i], 72, 0), large = fmt(family[i], 528, 0), no_matrix = fmt(family[i], 176, 0);
        test_case("%s", family[i]);
        CHECK(codec(&small)->check(&small) != NULL);
        CHECK(codec(&odd)->check(&odd) != NULL);
        CHECK(codec(&large)->check(&large) != NULL);
        CHECK((codec(&no_matrix)->check(&no_matrix) != NULL) == !strncmp(family[i], "tqprod", 6)); /* 176 = 11 x 16 */
    }
    const ingot_kv_fmt f = fmt("tqprod3", 176, 0);
    CHECK_HAS(codec(&f)->check(&f), "Hadamard");
}

/* Eight numbers with an RMS of 1, so that they are their own units. */
static const float unit_rms[8] = {-1.9f, -.6f, .3f, 1.2f, .790569415f, -.790569415f, .790569415f, -.790569415f};

TEST("codec/RVQ codes of the worked example, symmetric and folded") {
    static const float symmetric[4] = {-.797885f - .482626f, -.797885f + .482626f, .797885f - .482626f, .797885f + .482626f};
    static const struct { const float *level; double want[4]; } cases[] = {{symmetric, {-1.280511, -.315259, .315259, 1.280511}},
                                                                           {published2, {-1.510418, -.452780, .452780, 1.510418}}};
    for (int i = 0; i < 2; i++) {
        const ingot_tq_book book = {2, cases[i].level, 0};
        uint8_t code[8];
        CHECK_NEAR(ingot_tq_quantise(&book, INGOT_TQ_PAPER, unit_rms, 8, code), 1, 1e-6);
        for (int j = 0; j < 4; j++) {
            CHECK_INT(code[j], j); /* first stage: high bit, second: low */
            CHECK_NEAR(cases[i].level[code[j]], cases[i].want[j], 1e-5);
        }
    }
}

/* VeloxQuant's procedure as it is described: the nearest level, then the nearest level of the residual. */
static double two_stages(double u, const double *first, const double *second, int n, int *code) {
    int a = 0, b = 0;
    for (int i = 1; i < n; i++) a = fabs(u - first[i]) < fabs(u - first[a]) ? i : a;
    for (int i = 1; i < n; i++) b = fabs(u - first[a] - second[i]) < fabs(u - first[a] - second[b]) ? i : b;
    *code = a * n + b;
    return first[a] + second[b];
}

TEST("codec/rvq1 and rvq2 are VeloxQuant's two stages") {
    static const double first[2][4] = {{-.797885, .797885}, {-1.510418, -.452780, .452780, 1.510418}};
    static const double second[2][4] = {{-.270622, .270622}, {-.174281, -.040026, .040026, .174281}};
    ingot_rng r = {7};
    for (int s = 0; s < 2; s++) {
        const ingot_tq_book *book = &ingot_tq_residual[s];
        int wrong = 0;
        float x[256];
        uint8_t code[256];
        for (int i = 0; i < 256; i++) x[i] = (float)ingot_rng_normal(&r);
        const double unit = ingot_tq_quantise(book, INGOT_TQ_PAPER, x, 256, code);
        for (int i = 0; i < 256; i++) {
            int want;
            const double level = two_stages((double)x[i] / unit, first[s], second[s], 2 << s, &want);
            wrong += code[i] != want;
            CHECK_NEAR(book->level[code[i]], level, 1e-5);
        }
        CHECK_INT(wrong, 0);
    }
}

TEST("codec/rvqf1 and rvqf2 hold exactly the plain codes of equal bits") {
    static const char *const pair[2][2] = {{"rvqf1", "tq2"}, {"rvqf2", "tq4"}};
    ingot_rng r = {8};
    for (int i = 0; i < 2; i++)
        for (int rule = 0; rule < 4; rule++) {
            const ingot_kv_fmt f = fmt(pair[i][0], 128, rule), plain = fmt(pair[i][1], 128, rule);
            float x[128], a[128], b[128];
            uint8_t row[2][66];
            for (int j = 0; j < 128; j++) x[j] = (float)ingot_rng_normal(&r);
            codec(&f)->encode(&f, x, 128, 0, 1, row[0]);
            codec(&plain)->encode(&plain, x, 128, 0, 1, row[1]);
            codec(&f)->decode(&f, row[0], a);
            codec(&plain)->decode(&plain, row[1], b);
            CHECK_INT(codec(&f)->block_bytes(&f), codec(&plain)->block_bytes(&plain));
            CHECK_MEM(a, b, sizeof a);
        }
}

TEST("codec/TurboQuant Prod's worked example") {
    static const char signs[] = "++-+--++"; /* S = sqrt(8) * (orthonormal Walsh-Hadamard) o these */
    static const double sr[8] = {2.710175, .825359, -1.532466, 6.482214, 3.653786, 3.417281, 1.059456, -.118253};
    static const double sq[8] = {-.883883, -1.944544, -7.601398, .530330, -2.298097, -1.237437, -.530330, -.883883};
    const ingot_tq_book *book = &ingot_tq_lloyd_max[1];
    float matrix[64], y[8], q[8], residual[8], back[8], prepared[16], projected[8];
    uint8_t row[6];
    const ingot_sketch sketch = {.rows = 8, .dim = 8, .matrix = matrix};
    for (int j = 0; j < 8; j++) {
        float column[8] = {0};
        column[j] = (float)sqrt(8);
        rotate(column, column, signs, 8);
        for (int i = 0; i < 8; i++) matrix[8 * i + j] = column[i];
    }
    rotate(y, example_x, example_signs, 8);
    rotate(q, example_q, example_signs, 8);
    CHECK_INT(ingot_tq_prod_bytes(book, 8), 6);
    ingot_tq_prod_encode(book, &sketch, y, row);
    CHECK_INT(row[4], 0xd7); /* codes 1 1 1 0 1 0 1 1 */
    CHECK_INT(row[5], 0x7b); /* z + + - + + + + - */
    CHECK_NEAR(ingot_f16_to_f32((uint16_t)(row[0] | row[1] << 8)), 1.625, 1e-9);
    const double g = (double)ingot_f16_to_f32((uint16_t)(row[2] | row[3] << 8)), exact = sqrt(1.5707963267948966) * 3.133652 / sqrt(8);
    CHECK_NEAR(g, exact, exact * 0x1p-11);
    for (int j = 0; j < 8; j++) residual[j] = y[j] - (row[4] >> j & 1 ? 1.296563f : -1.296563f);
    CHECK_NEAR(sqrt(dot(residual, residual, 8)), 3.133652, 1e-5);
    ingot_sketch_apply(&sketch, projected, residual);
    ingot_tq_prod_prepare(&sketch, q, prepared);
    for (int j = 0; j < 8; j++) {
        CHECK_NEAR(projected[j], sr[j], 1e-5);
        CHECK_NEAR((double)prepared[8 + j] * sqrt(8), sq[j], 1e-5);
    }
    CHECK_NEAR(ingot_tq_prod_score(book, prepared, row, 8), -2.750426 + 1.041423 * g / exact, 1e-5);
    ingot_tq_prod_decode(book, &sketch, row, back);
    CHECK_NEAR(dot(q, back, 8), -2.750426 + 1.041423 * g / exact, 1e-5);
}
