/* The Hadamard transform: published vectors, orthogonality, the sign recipe, sizes. */
#include "base/hadamard.h"
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
    char s[33];
    matrix_row(12, 0, s);
    CHECK_STR(s, "++++++++++++");
    matrix_row(12, 1, s);
    CHECK_STR(s, "-+-+---+++-+");
    matrix_row(12, 11, s);
    CHECK_STR(s, "--+---+++-++");
    matrix_row(20, 1, s);
    CHECK_STR(s, "-+-++----+-+-++++--+");
    matrix_row(28, 0, s);
    CHECK_STR(s, "+-++++++++++++++++++++++++++");
    matrix_row(28, 2, s);
    CHECK_STR(s, "+++-++--++++--------++++--++");
}

TEST("transform/two odd factors: 144 and 576 have a matrix too") {
    static const int orders[] = {144, 240, 400, 560, 576, 784, 960};
    float x[INGOT_HADAMARD_MAX], y[INGOT_HADAMARD_MAX];
    ingot_rng r = {8};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const int n = orders[i];
        test_case("order %d", n);
        if (!CHECK(ingot_hadamard_exists(n))) continue;
        memset(x, 0, sizeof x);
        x[n - 1] = 1;
        ingot_hadamard(x, n, false);
        for (int j = 0; j < n; j++) CHECK_NEAR(fabs((double)x[j]), 1 / sqrt(n), 1e-6); /* a column of +-1 */
        for (int j = 0; j < n; j++) x[j] = y[j] = (float)ingot_rng_normal(&r);
        ingot_hadamard(y, n, true);
        ingot_hadamard(y, n, false);
        CHECK_NMSE(y, x, (size_t)n, 1e-12);
    }
    CHECK(!ingot_hadamard_exists(0) && !ingot_hadamard_exists(-4) && !ingot_hadamard_exists(6) && !ingot_hadamard_exists(72));
    CHECK(!ingot_hadamard_exists(176) && !ingot_hadamard_exists(2048));
}

TEST("transform/signs follow the recipe") {
    const ingot_transform *t = ingot_transform_get(INGOT_TRANSFORM_HADAMARD);
    ingot_rng r = {42};
    for (int i = 0; i < 512; i++) {
        const bool minus = ingot_rng_next(&r) >> 63;
        float e[512] = {0};
        e[i] = 1;
        t->forward(e, e, 512);
        CHECK_NEAR(e[0], minus ? -1 / sqrt(512) : 1 / sqrt(512), 1e-6); /* the matrix's first row is all plus */
    }
}

TEST("transform/every transform is orthogonal on every head size it accepts") {
    static const int dims[] = {16, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512};
    ingot_rng r = {3};
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
        const ingot_transform *t = ingot_transform_get(i);
        CHECK_INT(ingot_transform_find(t->name), i);
        CHECK((t->forward == NULL) == (t->inverse == NULL));
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
            const int dim = dims[d];
            float a[INGOT_MAX_HEAD_DIM], b[INGOT_MAX_HEAD_DIM], x[INGOT_MAX_HEAD_DIM], y[INGOT_MAX_HEAD_DIM];
            double dot = 0, rotated = 0;
            test_case("%s dim %d", t->name, dim);
            CHECK(t->check(dim) == NULL);
            if (!t->forward) continue;
            for (int j = 0; j < dim; j++) a[j] = (float)ingot_rng_normal(&r), b[j] = (float)ingot_rng_normal(&r);
            t->forward(x, a, dim);
            t->forward(y, b, dim);
            for (int j = 0; j < dim; j++) dot += (double)a[j] * (double)b[j], rotated += (double)x[j] * (double)y[j];
            CHECK_NEAR(rotated, dot, 1e-4);
            t->inverse(x, x, dim);
            CHECK_NMSE(x, a, (size_t)dim, 1e-12);
        }
    }
    CHECK(ingot_transform_get(INGOT_TRANSFORM_HADAMARD)->check(176) != NULL); /* 176 = 11 x 16 */
    CHECK(ingot_transform_get(INGOT_TRANSFORM_HADAMARD)->check(1024) != NULL);
    CHECK(ingot_transform_get(INGOT_TRANSFORM_HADAMARD)->check(6) != NULL);
    CHECK(ingot_transform_get(INGOT_N_TRANSFORMS) == NULL);
    CHECK_INT(ingot_transform_find("dct"), -1);
}

TEST("transform/a vector of one value does not become a spike") {
    float x[128];
    double top = 0;
    for (int i = 0; i < 128; i++) x[i] = 1;
    ingot_transform_get(INGOT_TRANSFORM_HADAMARD)->forward(x, x, 128);
    for (int i = 0; i < 128; i++) top = fmax(top, fabs((double)x[i]));
    CHECK_NEAR(top, 2.475, 0.001); /* 11.3 without the signs */
}
