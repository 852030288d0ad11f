/* How much the TurboQuant family loses: the tables by exact integrals, the codecs on Gaussian vectors. */
#include "base/half.h"
#include "base/rng.h"
#include "codec/tq_common.h"
#include "codec/tq_prod.h"
#include "test.h"

/* Integrals of the normal density over [a, b]: mass, first and second moment. */
static void moments(double a, double b, double m[3]) {
    const double pa = exp(-a * a / 2) / sqrt(6.283185307179586), pb = exp(-b * b / 2) / sqrt(6.283185307179586);
    m[0] = (erfc(a / sqrt(2)) - erfc(b / sqrt(2))) / 2;
    m[1] = pa - pb;
    m[2] = m[0] + a * pa - b * pb;
}

/* Mean squared error of a table for N(0, 1); from the low `dropped` bits of its codes only if `coarse` levels are given. */
static double table_error(const ingot_tq_book *book, int dropped, const double *coarse) {
    const int n = 1 << book->bits;
    double error = 0;
    for (int i = 0; i < n; i++) {
        const double level = coarse ? coarse[i >> dropped] : (double)book->level[i];
        const double from = i ? ((double)book->level[i - 1] + (double)book->level[i]) / 2 : -40;
        const double to = i < n - 1 ? ((double)book->level[i] + (double)book->level[i + 1]) / 2 : 40;
        double m[3];
        moments(from, to, m);
        error += m[2] - 2 * level * m[1] + level * level * m[0];
    }
    return error;
}

TEST("codec/TurboQuant's tables are Lloyd-Max quantisers") {
    static const double want[7] = {1, .363380, .117482, .034548, .009501, .002505, .000644};
    for (int bits = 0; bits <= INGOT_TQ_MAX_BITS; bits++) {
        const ingot_tq_book *b = &ingot_tq_lloyd_max[bits];
        test_case("%d bits", bits);
        CHECK_INT(b->bits, bits);
        CHECK_NEAR(table_error(b, 0, NULL) / want[bits], 1, 1e-3);
        for (int i = 0; i < 1 << bits; i++) {
            CHECK_NEAR(b->level[i], -b->level[(1 << bits) - 1 - i], 0);
            if (i) CHECK(b->level[i] > b->level[i - 1]);
        }
    }
}

TEST("codec/levels of up to 4 bits are integers over a constant") {
    static const double unit[5] = {0, 1 / .797884561, 6.6239, 40.913, 38.215};
    for (int bits = 1; bits <= 4; bits++)
        for (int i = 0; i < 1 << bits; i++) {
            const double k = (double)ingot_tq_lloyd_max[bits].level[i] * unit[bits];
            CHECK_NEAR(k, rint(k), 1e-5);
            CHECK(fabs(k) <= 127);
        }
}

TEST("codec/RVQ's tables lose what they are known to lose, and the repaired planes stand alone") {
    static const double inner = .496700, outer = 1.605021;
    const double coarse[4] = {-outer, -inner, inner, outer};
    CHECK_NEAR(table_error(&ingot_tq_residual[0], 0, NULL) / .1754, 1, 1e-2);
    CHECK_NEAR(table_error(&ingot_tq_residual[1], 0, NULL) / .0489, 1, 1e-2);
    CHECK_NEAR(table_error(&ingot_tq_lloyd_max[4], 2, coarse), .1203, 1e-4); /* rvqf2 without its second plane */
    const double sign[2] = {-.797884561, .797884561};
    CHECK_NEAR(table_error(&ingot_tq_lloyd_max[2], 1, sign), .363380, 1e-5); /* rvqf1 without it: tq1 */
}

enum { DIM = 128, VECTORS = 2000 };

static float gauss[VECTORS][DIM];
static void fill_gauss(void) {
    ingot_rng r = {11};
    if (gauss[0][0] != 0) return;
    for (int i = 0; i < VECTORS; i++)
        for (int j = 0; j < DIM; j++) gauss[i][j] = (float)ingot_rng_normal(&r);
}

/* Sums over vectors: |x^ - x|^2, <x^, x>, |x|^2; and the largest deviation of <x^, x> / |x|^2 from 1. */
typedef struct loss { double error, inner, power, worst; } loss;
static void add_loss(loss *l, const float *x, const float *y, int n) {
    double inner = 0, power = 0;
    for (int j = 0; j < n; j++) {
        const double a = (double)x[j], b = (double)y[j];
        l->error += (a - b) * (a - b), inner += a * b, power += a * a;
    }
    l->inner += inner, l->power += power;
    l->worst = fmax(l->worst, fabs(inner / power - 1));
}

static loss measure(const char *name, int rule) {
    const ingot_kv_fmt f = {.codec = ingot_codec_find(name), .dim = DIM, .variant = rule};
    const ingot_codec *c = ingot_codec_get(f.codec);
    loss l = {0};
    fill_gauss();
    for (int i = 0; i < VECTORS; i++) {
        uint8_t row[128];
        float y[DIM];
        c->encode(&f, gauss[i], DIM, 0, 1, row);
        c->decode(&f, row, y);
        add_loss(&l, gauss[i], y, DIM);
    }
    return l;
}

TEST("codec/TurboQuant's scale rules: error and shrinkage on Gaussian vectors") {
    static const double error[4][4] = {
        {.3610, .1161, .0340, .00932}, {.4010, .1189, .0338, .00917}, {.3605, .1153, .0335, .00915}, {.5670, .1307, .0347, .00924}};
    static const double inner[4][4] = {{.638, .885, .967, .991}, {.799, .941, .983, .995}, {.639, .885, .967, .991}, {1, 1, 1, 1}};
    static const char *const names[4] = {"tq1", "tq2", "tq3", "tq4"};
    for (int rule = 0; rule < 4; rule++)
        for (int b = 0; b < 4; b++) {
            const loss l = measure(names[b], rule);
            test_case("%s %s", names[b], ingot_tq_rules[rule]);
            CHECK_NEAR(l.error / l.power / error[rule][b], 1, .01);
            CHECK_NEAR(l.inner / l.power / inner[rule][b], 1, .005);
            if (rule == INGOT_TQ_UNBIASED) CHECK(l.worst < 0x1p-11 + 1e-6); /* for every vector: what is left is the rounding of the scale */
        }
}

TEST("codec/tq5, tq6 and the legacy RVQ on Gaussian vectors") {
    static const struct { const char *name; double error, tolerance; } cases[] = {
        {"tq5", .002505, .04}, {"tq6", .000644, .06}, {"rvq1", .1754, .02}, {"rvq2", .0489, .04}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const loss l = measure(cases[i].name, INGOT_TQ_PAPER);
        test_case("%s", cases[i].name);
        CHECK_NEAR(l.error / l.power / cases[i].error, 1, cases[i].tolerance); /* 128 dimensions: a little less than the Gaussian limit */
    }
}

TEST("codec/rvqf2 without its second plane is a 2-bit code") {
    static const float coarse[4] = {-1.605021f, -.496700f, .496700f, 1.605021f};
    const ingot_kv_fmt f = {.codec = ingot_codec_find("rvqf2"), .dim = DIM, .variant = INGOT_TQ_PAPER};
    loss l = {0};
    fill_gauss();
    for (int i = 0; i < VECTORS; i++) {
        uint8_t row[66];
        float y[DIM];
        ingot_codec_get(f.codec)->encode(&f, gauss[i], DIM, 0, 1, row);
        const float s = ingot_f16_to_f32((uint16_t)(row[0] | row[1] << 8));
        for (int j = 0; j < DIM; j++) y[j] = s * coarse[row[2 + j / 2] >> (j & 1) * 4 >> 2 & 3];
        add_loss(&l, gauss[i], y, DIM);
    }
    CHECK_NEAR(l.error / l.power / .1203, 1, .02);
    const loss plain = measure("tq2", INGOT_TQ_PAPER);
    CHECK(l.error < 1.03 * plain.error);
}

TEST("codec/tq2_5 and tq3_5 spend their bits on the first quarter") {
    static const struct { const char *name; int bits; } cases[] = {{"tq2_5", 2}, {"tq3_5", 3}};
    fill_gauss();
    for (int c = 0; c < 2; c++) {
        const ingot_kv_fmt f = {.codec = ingot_codec_find(cases[c].name), .dim = DIM, .variant = INGOT_TQ_LS};
        loss all = {0}, outliers = {0}, others = {0}, plain = {0};
        const int bits = cases[c].bits, n = DIM / 4;
        for (int i = 0; i < VECTORS / 4; i++) {
            float x[DIM], y[DIM];
            uint8_t row[64];
            for (int j = 0; j < DIM; j++) x[j] = gauss[i][j] * (j < n ? 4.0f : 1.0f);
            ingot_codec_get(f.codec)->encode(&f, x, DIM, 0, 1, row);
            ingot_codec_get(f.codec)->decode(&f, row, y);
            add_loss(&outliers, x, y, n);
            add_loss(&others, x + n, y + n, DIM - n);
            add_loss(&all, x, y, DIM);
            uint16_t s;
            ingot_tq_encode(&ingot_tq_lloyd_max[bits], INGOT_TQ_LS, x, DIM, &s, row);
            ingot_tq_decode(&ingot_tq_lloyd_max[bits], s, row, DIM, y);
            add_loss(&plain, x, y, DIM);
        }
        test_case("%s", cases[c].name);
        CHECK_NEAR(outliers.error / outliers.power / table_error(&ingot_tq_lloyd_max[bits + 1], 0, NULL), 1, .12); /* few channels: below the Gaussian limit */
        CHECK_NEAR(others.error / others.power / table_error(&ingot_tq_lloyd_max[bits], 0, NULL), 1, .06);
        CHECK(all.error < .5 * plain.error);
    }
}

TEST("codec/TurboQuant Prod: unbiased, with the known variance, and scores as decoded") {
    static const double want[4] = {.571, .207, .067, .0197};
    const ingot_sketch sketch = ingot_tq_prod_sketch(DIM);
    float prepared[2 * DIM], y[DIM];
    uint8_t row[128];
    fill_gauss();
    for (int bits = 0; bits < 4; bits++) {
        const ingot_tq_book *book = &ingot_tq_lloyd_max[bits];
        loss l = {0};
        double away = 0;
        for (int i = 0; i < VECTORS / 2; i++) {
            const float *x = gauss[i], *q = gauss[VECTORS - 1 - i];
            double direct = 0;
            ingot_tq_prod_encode(book, &sketch, x, row);
            ingot_tq_prod_decode(book, &sketch, row, y);
            add_loss(&l, x, y, DIM);
            if (i % 16) continue;
            ingot_tq_prod_prepare(&sketch, q, prepared);
            for (int j = 0; j < DIM; j++) direct += (double)q[j] * (double)y[j];
            away = fmax(away, fabs(direct - (double)ingot_tq_prod_score(book, prepared, row, DIM)));
        }
        test_case("%d bits in all", bits + 1);
        CHECK_NEAR(l.error / l.power / want[bits], 1, .05); /* n times the variance over random queries of length 1 */
        CHECK_NEAR(l.inner / l.power, 1, .005);
        CHECK(away < 2e-4);
    }
}
