/* QJL: the worked example with a written-out matrix, bias and variance of the estimates, blocks with missing tokens, degenerate keys. */
#include "base/half.h"
#include "codec/qjl.h"
#include "codec_forms.h"
#include "test.h"
#include <stdlib.h>

static const float matrix[8][4] = {{1, 0, 2, -1}, {0, 1, -1, 1}, {2, 1, 0, 0}, {-1, 1, 1, 1}, {1, -2, 0, 1}, {0, 0, 1, 2}, {1, 1, 1, -1}, {-2, 0, 1, 0}};
static const float key[4] = {.5f, -1, 2, .25f}, query[4] = {1, .5f, -.5f, 2};

TEST("codec/qjl: the worked example without outliers") {
    const ingot_sketch s = {8, 4, 0, matrix[0]};
    static const double want_k[8] = {4.25, -2.75, 0, .75, 2.75, 2.5, 1.25, 1}, want_q[8] = {-2, 3, 2.5, 1, 2, 3.5, -1, -2.5};
    float sk[8], sq[8];
    uint8_t bits;
    ingot_sketch_apply(&s, sk, key);
    ingot_sketch_apply(&s, sq, query);
    for (int i = 0; i < 8; i++) {
        CHECK_NEAR(sk[i], want_k[i], 1e-6);
        CHECK_NEAR(sq[i], want_q[i], 1e-6);
    }
    ingot_sketch_bits(&bits, sk, 8);
    CHECK_INT(bits, 0xf9); /* the zero gives 0 */
    CHECK_NEAR(ingot_sketch_dot(&bits, sq, 8), -4.5, 1e-6);
    const ingot_qjl q = {s, 8, 8, 0, {0}};
    uint8_t in, out;
    double norm_in, norm_out;
    float iq[8], oq[8];
    ingot_qjl_encode(&q, key, &in, &out, &norm_in, &norm_out);
    CHECK_INT(in, 0xf9);
    CHECK_NEAR(norm_in, 2.304886, 1e-6);
    CHECK_NEAR(norm_out, 0, 0);
    ingot_qjl_split(&q, query, sq, iq, oq);
    CHECK_NEAR(ingot_qjl_score(&q, iq, oq, &in, &out, (float)norm_in, (float)norm_out), -1.624920, 1e-5);
}

TEST("codec/qjl: the worked example with an outlier channel") {
    ingot_qjl q = {{8, 4, 0, matrix[0]}, 8, 8, 1, {0}};
    double energy[4] = {.25, 1, 4, .0625}, norm_in, norm_out, dot = 0;
    uint8_t in, out;
    float sq[8], iq[8], oq[8], back[4];
    ingot_qjl_choose(&q, energy);
    CHECK_INT(q.outlier[0], 2);
    ingot_qjl_encode(&q, key, &in, &out, &norm_in, &norm_out);
    CHECK_INT(in, 0x31);  /* 1,0,0,0,1,1,0,0 */
    CHECK_INT(out, 0xe9); /* 1,0,0,1,0,1,1,1 */
    CHECK_NEAR(norm_in, 1.145644, 1e-6);
    CHECK_NEAR(norm_out, 2, 1e-6);
    ingot_sketch_apply(&q.s, sq, query);
    ingot_qjl_split(&q, query, sq, iq, oq);
    CHECK_NEAR(ingot_qjl_score(&q, iq, oq, &in, &out, (float)norm_in, (float)norm_out), -.917168, 1e-5);
    ingot_qjl_decode(&q, back, &in, &out, (float)norm_in, (float)norm_out);
    for (int i = 0; i < 4; i++) dot += (double)back[i] * (double)query[i];
    CHECK_NEAR(dot, -.917168, 1e-5); /* the value form gives the same score */
}

TEST("codec/qjl: equal channels go to the lower number") {
    ingot_qjl q = {{0, 16, 0, NULL}, 0, 0, 8, {0}};
    double energy[16] = {[3] = 2, [5] = 2, [9] = 2, [15] = 7};
    static const int want[8] = {0, 1, 2, 3, 4, 5, 9, 15};
    ingot_qjl_choose(&q, energy);
    for (int i = 0; i < 8; i++) CHECK_INT(q.outlier[i], want[i]);
}

TEST("codec/qjl: blocks of the sketch are orthogonal, with rows of norm sqrt(dim)") {
    static const int dims[] = {16, 64, 80, 144};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const int dim = dims[d];
        const ingot_sketch s = {2 * dim, dim, 7, NULL};
        float *column = malloc(sizeof(float) * (size_t)(2 * dim * dim)), e[INGOT_MAX_HEAD_DIM] = {0}, back[INGOT_MAX_HEAD_DIM];
        test_case("dim %d", dim);
        for (int j = 0; j < dim; j++) {
            e[j] = 1;
            ingot_sketch_apply(&s, column + 2 * dim * j, e);
            e[j] = 0;
        }
        for (int i = 0; i < 2 * dim; i += dim) /* each block's rows: norms, and two products */
            for (int a = i; a < i + 3; a++) {
                double dot = 0, other = 0;
                for (int j = 0; j < dim; j++) {
                    dot += (double)column[2 * dim * j + i] * (double)column[2 * dim * j + a];
                    other += (double)column[2 * dim * j] * (double)column[2 * dim * j + dim + a % dim];
                }
                CHECK_NEAR(dot, a == i ? dim : 0, 1e-3);
                CHECK(fabs(other) < 0.9 * dim); /* the two blocks differ */
            }
        /* back is the transpose: column j against S^T z */
        uint8_t bits[INGOT_MAX_HEAD_DIM / 4];
        for (size_t i = 0; i < sizeof bits; i++) bits[i] = (uint8_t)(i * 37 + 11);
        ingot_sketch_back(&s, back, bits, 2 * dim);
        for (int j = 0; j < dim; j++) CHECK_NEAR(back[j], ingot_sketch_dot(bits, column + 2 * dim * j, 2 * dim), 1e-3);
        free(column);
    }
}

/* Mean and dim * variance of the estimate of <q, k>, |q| = |k| = 1, over random pairs at a given angle. */
static void estimate(const float *gaussian, int dim, double cosine, int rounds, double *mean, double *variance) {
    ingot_rng r = {17};
    const ingot_qjl shape = {{dim, dim, 99, gaussian}, dim, dim, 0, {0}};
    double sum = 0, square = 0;
    for (int i = 0; i < rounds; i++) {
        float k[128], q[128], sq[128];
        double kk = 0, kq = 0, qq = 0, norm_in, norm_out, u[128];
        uint8_t in[16], out[16];
        for (int j = 0; j < dim; j++) k[j] = (float)ingot_rng_normal(&r), u[j] = ingot_rng_normal(&r), kk += (double)k[j] * (double)k[j], kq += (double)k[j] * u[j];
        for (int j = 0; j < dim; j++) u[j] -= kq / kk * (double)k[j], qq += u[j] * u[j];
        for (int j = 0; j < dim; j++) {
            const double unit = (double)k[j] / sqrt(kk);
            k[j] = (float)unit, q[j] = (float)(cosine * unit + sqrt(1 - cosine * cosine) * u[j] / sqrt(qq));
        }
        ingot_qjl_encode(&shape, k, in, out, &norm_in, &norm_out);
        ingot_sketch_apply(&shape.s, sq, q);
        const double s = (double)(INGOT_SQRT_HALF_PI / (float)dim) * norm_in * (double)ingot_sketch_dot(in, sq, dim);
        sum += s, square += s * s;
    }
    *mean = sum / rounds;
    *variance = dim * (square / rounds - *mean * *mean);
}

TEST("codec/qjl: estimates are unbiased, with the variance of orthogonal rows") {
    double mean, variance;
    estimate(NULL, 128, 0, 10000, &mean, &variance);
    CHECK_NEAR(mean, 0, 0.002);
    CHECK_NEAR(variance, .571, .02);
    estimate(NULL, 128, 0.5, 10000, &mean, &variance);
    CHECK_NEAR(mean, 0.5, 0.004); /* sqrt(pi / 2) instead of the constant of 128 dimensions: .2 % too much */
    estimate(NULL, 128, 1, 4000, &mean, &variance);
    CHECK_NEAR(mean, 1, 0.004);
    CHECK_NEAR(variance, .069, .006);
}

/* 64 dimensions: a matrix of independent normal numbers, a new one for each of the pairs' groups, gives the constants of the paper. */
TEST("codec/qjl: a Gaussian matrix has pi / 2 of variance") {
    enum { DIM = 64, MATRICES = 60 };
    ingot_rng r = {23};
    float *m = malloc(sizeof(float) * DIM * DIM);
    double across = 0, along = 0, bias = 0;
    for (int i = 0; i < MATRICES; i++) {
        double mean, variance;
        for (int j = 0; j < DIM * DIM; j++) m[j] = (float)ingot_rng_normal(&r);
        estimate(m, DIM, 0, 100, &mean, &variance);
        across += variance / MATRICES + DIM * mean * mean / MATRICES;
        estimate(m, DIM, 1, 100, &mean, &variance);
        along += variance / MATRICES + DIM * (mean - 1) * (mean - 1) / MATRICES, bias += (mean - 1) / MATRICES;
    }
    CHECK_NEAR(across, 1.571, .08);
    CHECK_NEAR(along, .571, .06);
    CHECK_NEAR(bias, 0, 0.02);
    free(m);
}

TEST("codec/qjl: score form and value form agree on whole and ragged blocks") {
    ingot_rng r = {31};
    for (int variant = 0; variant < 2; variant++)
        for (const int *dim = codec_dims; *dim; dim++) {
            ingot_kv_fmt f = codec_fmt("qjl", *dim, INGOT_SIDE_K);
            f.variant = variant;
            test_case("dim %d variant %d", *dim, variant);
            CHECK(ingot_codec_get(f.codec)->check(&f) == NULL);
            codec_check_forms(&f, &r, 0, 32, 0.9);
            codec_check_forms(&f, &r, 5, 9, 0.9);
            codec_check_forms(&f, &r, 31, 1, 0.9);
        }
}

TEST("codec/qjl: sizes, sides and head sizes") {
    const ingot_codec *c = ingot_codec_get(ingot_codec_find("qjl"));
    ingot_kv_fmt f = codec_fmt("qjl", 128, INGOT_SIDE_K);
    CHECK_INT(c->block_bytes(&f), 8 + 128 + 32 * 64); /* 4.266 bits an element */
    f.variant = 1;
    CHECK_INT(c->block_bytes(&f), 8 + 128 + 32 * 80); /* 5.266 */
    f.dim = 512;
    CHECK_INT(c->block_bytes(&f), 16 + 128 + 32 * 320);
    CHECK_INT(c->tokens(&f), 32);
    CHECK_INT(c->sides, 1);
    f.dim = 176;
    CHECK_HAS(c->check(&f), "Hadamard");
    f.dim = 40;
    CHECK(c->check(&f) != NULL);
    f.dim = 528;
    CHECK(c->check(&f) != NULL);
}

TEST("codec/qjl: absent tokens, zero keys and keys at the end of the range") {
    const ingot_codec *c = ingot_codec_get(ingot_codec_find("qjl"));
    const ingot_kv_fmt f = codec_fmt("qjl", 64, INGOT_SIDE_K);
    static float x[32 * 64], y[32 * 64];
    uint8_t block[4096];
    for (int i = 0; i < 64; i++) x[2 * 64 + i] = i % 3 ? 3.4e38f : -3.4e38f, x[3 * 64 + i] = 1e-30f;
    x[40] = 5; /* token 0: one channel */
    c->encode(&f, x, 64, 0, 4, block);
    c->decode(&f, block, y);
    double along = 0;
    for (int i = 0; i < 32 * 64; i++) CHECK(isfinite(y[i]));
    for (int i = 0; i < 64; i++) {
        CHECK_NEAR(y[64 + i], 0, 0);
        CHECK_NEAR(y[3 * 64 + i], 0, 0);
        CHECK_NEAR(y[9 * 64 + i], 0, 0);
        along += (double)y[2 * 64 + i] * (i % 3 ? 1 : -1);
        if (i != 40 && y[i] != 0) CHECK(fabs((double)y[i]) < 5);
    }
    CHECK(along > 0);
    CHECK_NEAR(y[40], 5, 1.5);
    memset(block, 0, sizeof block);
    c->decode(&f, block, y);
    for (int i = 0; i < 32 * 64; i++) CHECK_NEAR(y[i], 0, 0); /* a slot that was never written */
    memset(block, 0xff, sizeof block);
    float q[64] = {1}, s[32], prepared[64 * 3];
    c->prepare(&f, q, prepared);
    c->score(&f, prepared, block, s); /* channel numbers out of range are read without harm */
    CHECK(isnan(s[0]));
}

TEST("codec/qjl: the outlier channels of a block are sketched apart") {
    const ingot_codec *c = ingot_codec_get(ingot_codec_find("qjl"));
    const ingot_kv_fmt f = codec_fmt("qjl", 512, INGOT_SIDE_K);
    static const int big[8] = {1, 77, 255, 256, 300, 301, 400, 511};
    float *x = malloc(sizeof(float) * 32 * 512);
    uint8_t *block = malloc(c->block_bytes(&f));
    ingot_rng r = {3};
    for (int i = 0; i < 32 * 512; i++) x[i] = (float)ingot_rng_normal(&r);
    for (int t = 0; t < 32; t++)
        for (int i = 0; i < 8; i++) x[t * 512 + big[i]] += 50;
    c->encode(&f, x, 512, 0, 32, block);
    for (int i = 0; i < 8; i++) CHECK_INT(block[2 * i] | block[2 * i + 1] << 8, big[i]);
    CHECK_NEAR(ingot_f16_to_f32((uint16_t)(block[16] | block[17] << 8)), sqrt(504), 3);     /* inlier norm of token 0 */
    CHECK_NEAR(ingot_f16_to_f32((uint16_t)(block[80] | block[81] << 8)), 50 * sqrt(8), 5); /* outlier norm */
    free(x), free(block);
}
