/* The Hadamard matrices and what is built of them: published vectors, the sign recipe, blocks. */
#include "base/hadamard.h"
#include "base/hadamard_signed.h"
#include "base/rng.h"
#include "test.h"
#include "transform/transform.h"
#include <ingot/types.h>

TEST("transform/Walsh-Hadamard order is the natural one") {
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const double want[8] = {12.727922, -1.414214, -2.828427, 0, -5.656854, 0, 0, 0};
    ingot_hadamard(x, 8, false);
    for (int i = 0; i < 8; i++) CHECK_NEAR(x[i], want[i], 1e-5);
}

TEST("transform/orders 12 and 24 give the published vectors") {
    float x[24];
    static const double want12[12] = {22.516660, 3.464102, .577350, 4.041452, 1.154701, -1.732051, -4.618802, -1.154701, 2.309401, 5.773503, 2.886751, 6.350853};
    static const double want24[6] = {.015152, .124531, -.426794, .116181, -.753135, .302734};
    for (int i = 0; i < 12; i++) x[i] = (float)(i + 1);
    ingot_hadamard(x, 12, false);
    for (int i = 0; i < 12; i++) CHECK_NEAR(x[i], want12[i], 1e-5);
    double norm = 0;
    for (int i = 0; i < 24; i++) x[i] = (float)sin(i + 1);
    ingot_hadamard(x, 24, false);
    for (int i = 0; i < 6; i++) CHECK_NEAR(x[i], want24[i], 1e-5);
    for (int i = 0; i < 24; i++) norm += (double)x[i] * (double)x[i];
    CHECK_NEAR(sqrt(norm), 3.540248, 1e-5);
}

/* Signs of one row of the matrix of order n, from unit vectors. */
static void matrix_row(int n, int row, char *signs) {
    for (int j = 0; j < n; j++) {
        float e[32] = {0};
        e[j] = 1;
        ingot_hadamard(e, n, false);
        signs[j] = e[row] > 0 ? '+' : '-';
    }
    signs[n] = 0;
}

TEST("transform/rows of the orders 12, 20 and 28") {
    static const char *const rows12[12] = {"++++++++++++", "-+-+---+++-+", "-++-+---+++-", "--++-+---+++", "-+-++-+---++", "-++-++-+---+",
                                           "-+++-++-+---", "--+++-++-+--", "---+++-++-+-", "----+++-++-+", "-+---+++-++-", "--+---+++-++"};
    char s[33];
    for (int i = 0; i < 12; i++) {
        matrix_row(12, i, s);
        CHECK_STR(s, rows12[i]);
    }
    matrix_row(20, 1, s);
    CHECK_STR(s, "-+-++----+-+-++++--+");
    matrix_row(28, 0, s);
    CHECK_STR(s, "+-++++++++++++++++++++++++++");
    matrix_row(28, 2, s);
    CHECK_STR(s, "+++-++--++++--------++++--++");
}

TEST("transform/signs follow the recipe") {
    ingot_rng r = {42};
    bool minus[1024];
    for (int i = 0; i < 1024; i++) minus[i] = ingot_rng_next(&r) >> 63;
    static const uint8_t first[16] = {0xa1, 0x72, 0xd8, 0xfc, 0x47, 0x19, 0x83, 0x67, 0xf6, 0x2e, 0xd2, 0x67, 0xd5, 0xa1, 0xa2, 0x03};
    for (int i = 0; i < 128; i++) CHECK_INT(minus[i], first[i / 8] >> i % 8 & 1);
    for (int i = 0; i < 1024; i++) {
        float e[1024] = {0};
        e[i] = 1;
        ingot_hadamard_signed(e, e, 1024);
        CHECK_NEAR(e[0], minus[i] ? -1.0 / 32 : 1.0 / 32, 0); /* the matrix's first row is all plus */
    }
}

TEST("transform/a vector of one value does not become a spike") {
    float x[128];
    double top = 0;
    for (int i = 0; i < 128; i++) x[i] = 1;
    ingot_transform_get(INGOT_TRANSFORM_HADAMARD)->forward(NULL, x, x, 128);
    for (int i = 0; i < 128; i++) if (fabs((double)x[i]) > top) top = fabs((double)x[i]);
    CHECK_NEAR(top, 2.475, 0.001); /* 11.3 without the signs */
}

TEST("transform/head sizes that a Hadamard matrix exists for") {
    const ingot_transform *t = ingot_transform_get(INGOT_TRANSFORM_HADAMARD);
    static const int yes[] = {16, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320, 384, 448, 512, 576}, no[] = {0, -16, 6, 176, 208, 432, 2048};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) test_case("%d", yes[i]), CHECK(t->check(yes[i]) == NULL);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) test_case("%d", no[i]), CHECK(t->check(no[i]) != NULL);
}

TEST("transform/block Hadamard works on the largest power of two") {
    const ingot_transform *t = ingot_transform_get(INGOT_TRANSFORM_BLOCK_HADAMARD);
    static const struct { int dim, block; } cases[] = {{64, 64}, {80, 16}, {96, 32}, {176, 16}, {192, 64}, {320, 64}, {512, 512}};
    ingot_rng r = {5};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float x[INGOT_MAX_HEAD_DIM], got[INGOT_MAX_HEAD_DIM], want[INGOT_MAX_HEAD_DIM];
        const int dim = cases[c].dim;
        test_case("dim %d", dim);
        for (int i = 0; i < dim; i++) x[i] = (float)ingot_rng_normal(&r);
        for (int i = 0; i < dim; i += cases[c].block) ingot_hadamard_signed(want + i, x + i, cases[c].block);
        if (!CHECK(t->check(dim) == NULL)) continue;
        t->forward(NULL, got, x, dim);
        CHECK_MEM(got, want, sizeof(float) * (size_t)dim);
    }
    CHECK(t->check(40) != NULL && t->check(0) != NULL);
}
