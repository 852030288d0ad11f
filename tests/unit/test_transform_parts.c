/* Each transform by itself: published vectors and independent computations. */
#include "base/hadamard.h"
#include "base/hadamard_signed.h"
#include "base/pool.h"
#include "test.h"
#include "transform/chain.h"
#include "transform_fixture.h"
#include <ingot/types.h>

static void softmax(double *p, const float *q, float k[][3], int n) {
    double sum = 0;
    for (int t = 0; t < n; t++) {
        p[t] = 0;
        for (int i = 0; i < 3; i++) p[t] += (double)q[i] * (double)k[t][i];
        p[t] = exp(p[t]);
        sum += p[t];
    }
    for (int t = 0; t < n; t++) p[t] /= sum;
}

TEST("transform/mean-centring leaves the softmax alone") {
    const ingot_transform *t = ingot_transform_get(INGOT_TRANSFORM_MEAN);
    static const float q[3] = {1, -2, .5f}, mean[3] = {10, 3, -4};
    static const double want[3] = {.875122, .017714, .107164};
    float k[3][3] = {{10.5f, 2, -4.2f}, {9, 3.5f, -3}, {11, 3.1f, -5}}, query[3];
    double p[3];
    softmax(p, q, k, 3);
    for (int i = 0; i < 3; i++) CHECK_NEAR(p[i], want[i], 1e-6);
    t->query(mean, query, q, 3);
    CHECK_MEM(query, q, sizeof q);
    for (int i = 0; i < 3; i++) t->forward(mean, k[i], k[i], 3);
    CHECK_NEAR(k[0][0], .5, 1e-6);
    CHECK_NEAR(k[2][2], -1, 1e-6);
    softmax(p, query, k, 3);
    for (int i = 0; i < 3; i++) CHECK_NEAR(p[i], want[i], 1e-6);
    CHECK_INT(t->sides, 1);
}

TEST("transform/smoothing and a Hadamard matrix give the published key and query") {
    const ingot_transform *t = ingot_transform_get(INGOT_TRANSFORM_SMOOTH);
    static const float lambda[4] = {2, 1, .5f, 3};
    static const double key[4] = {-.3, 2.2, 1.3, -.2}, query[4] = {.875, -.875, 1.125, .875};
    float k[4] = {3, -.5f, .2f, -6}, q[4] = {.5f, 1, -2, .25f};
    t->forward(lambda, k, k, 4);
    ingot_hadamard(k, 4, false);
    t->query(lambda, q, q, 4);
    ingot_hadamard(q, 4, false);
    double score = 0;
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR(k[i], key[i], 1e-6);
        CHECK_NEAR(q[i], query[i], 1e-6);
        score += (double)q[i] * (double)k[i];
    }
    CHECK_NEAR(score, -.9, 1e-6);
}

TEST("transform/split puts the listed quarter first and rotates both parts") {
    const ingot_transform *t = ingot_transform_get(INGOT_TRANSFORM_SPLIT);
    enum { D = 64, N = D / 4 };
    float list[D], x[D], y[D], order[D];
    for (int i = 0; i < N; i++) list[i] = (float)(63 - 4 * i); /* named in falling order, stored in ascending order */
    for (int i = 0, at = N; i < D; i++)
        if (i % 4 != 3) list[at++] = (float)i;
    for (int i = 0; i < D; i++) x[i] = (float)(i + 1);
    for (int i = 0; i < N; i++) order[i] = (float)(4 * i + 4);
    for (int i = 0, at = N; i < D; i++)
        if (i % 4 != 3) order[at++] = (float)(i + 1);
    ingot_hadamard_signed(order, order, N);
    ingot_hadamard_signed(order + N, order + N, D - N);
    t->forward(list, y, x, D);
    CHECK_MEM(y, order, sizeof y);
    static const int yes[] = {16, 64, 128, 192, 256, 320, 512}, no[] = {0, 48, 80, 96, 112, 160, 176, 1024};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) test_case("%d", yes[i]), CHECK(t->check(yes[i]) == NULL);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) test_case("%d", no[i]), CHECK(t->check(no[i]) != NULL);
}

/* Row `row` of Haar's matrix. */
static void haar_row(float *out, int dim, int row) {
    memset(out, 0, sizeof(float) * (size_t)dim);
    out[row] = 1;
    ingot_transform_get(INGOT_TRANSFORM_HAAR)->forward(NULL, out, out, dim);
}

TEST("transform/Haar's matrix follows its recipe") {
    /* From the recipe in other software (numpy's QR of the same numbers, columns by the sign of R's diagonal). */
    static const double first16[8] = {-0.5093138, -0.351748, -0.2319073, -0.2775202, 0.0365687, 0.0985608, -0.3250788, 0.2480074};
    static const double last16[4] = {0.0350429, 0.53054, -0.4308821, -0.0050403};
    static const double first80[8] = {-0.2422251, -0.1404345, -0.0573355, -0.1308883, 0.0083688, 0.0646374, -0.1282334, 0.0981038};
    float row[80];
    haar_row(row, 16, 0);
    for (int i = 0; i < 8; i++) CHECK_NEAR(row[i], first16[i], 2e-7);
    haar_row(row, 16, 15);
    for (int i = 0; i < 4; i++) CHECK_NEAR(row[12 + i], last16[i], 2e-7);
    haar_row(row, 80, 0);
    for (int i = 0; i < 8; i++) CHECK_NEAR(row[i], first80[i], 2e-7);
    CHECK(ingot_transform_get(INGOT_TRANSFORM_HAAR)->check(24) != NULL);
    CHECK(ingot_transform_get(INGOT_TRANSFORM_HAAR)->check(528) != NULL);
}

/* Bits of vectors of small integers, the same on every machine and for every compiler. */
TEST("transform/the bits of rotated vectors are fixed") {
    static const struct { int id, dim; float at0, at1, last; } want[] = {
        {INGOT_TRANSFORM_HADAMARD, 64, 0x1.48p+2f, -0x1.5cp+3f, -0x1.9p+1f},
        {INGOT_TRANSFORM_HADAMARD, 192, 0x1.02a726p+3f, -0x1.f7730ep+3f, -0x1.279a74p+0f},
        {INGOT_TRANSFORM_HAAR, 64, 0x1.ba3782p+2f, 0x1.205756p+3f, 0x1.a46266p+2f},
        {INGOT_TRANSFORM_HAAR, 256, 0x1.0cacdap+3f, 0x1.370d12p+2f, 0x1.9e8b48p+3f},
    };
    for (size_t c = 0; c < sizeof want / sizeof *want; c++) {
        float x[256];
        const int dim = want[c].dim;
        for (int i = 0; i < dim; i++) x[i] = (float)(i * 7 % 31 - 15);
        ingot_transform_get(want[c].id)->forward(NULL, x, x, dim);
        test_case("%s %d: %a %a %a", ingot_transform_get(want[c].id)->name, dim, (double)x[0], (double)x[1], (double)x[dim - 1]);
        CHECK(x[0] == want[c].at0 && x[1] == want[c].at1 && x[dim - 1] == want[c].last);
    }
}

typedef struct shared_rows {
    float row[8][208];
} shared_rows;

static void first_use(const ingot_team *team, void *arg) {
    shared_rows *s = arg;
    haar_row(s->row[team->rank], 208, 7);
}

TEST("transform/Haar's matrix is made once, whoever comes first") {
    static shared_rows s;
    ingot_pool *pool;
    if (!CHECK_OK(ingot_pool_create(&pool, 8))) return;
    ingot_pool_run(pool, first_use, &s); /* a size that no other test uses */
    ingot_pool_destroy(pool);
    double norm = 0;
    for (int i = 0; i < 208; i++) norm += (double)s.row[0][i] * (double)s.row[0][i];
    CHECK_NEAR(norm, 1, 1e-5);
    for (int i = 1; i < 8; i++) CHECK_MEM(s.row[i], s.row[0], sizeof s.row[0]);
}

TEST("transform/a chain of all three stages is undone and keeps scores") {
    enum { D = 64 };
    static float mean[2 * D * D], smooth[2 * D * D], whiten[2 * D * D];
    static const int ids[3] = {INGOT_TRANSFORM_MEAN, INGOT_TRANSFORM_SMOOTH, INGOT_TRANSFORM_WHITEN};
    float *const cals[3] = {mean, smooth, whiten};
    ingot_transform_chain c = {.n = 3, .dim = D};
    ingot_rng r = {11};
    for (int i = 0; i < 3; i++) {
        c.step[i] = ingot_transform_get(ids[i]), c.cal[i] = cals[i];
        if (!CHECK(fixture_cal(cals[i], c.step[i], D, &r))) return;
        CHECK_INT(c.step[i]->stage, i);
    }
    float q[D], qt[D], k[2][D], kt[2][D], back[D];
    double want = 0, got = 0;
    for (int i = 0; i < D; i++) q[i] = (float)ingot_rng_normal(&r), k[0][i] = (float)ingot_rng_normal(&r), k[1][i] = (float)ingot_rng_normal(&r);
    ingot_chain_query(&c, qt, q);
    for (int i = 0; i < 2; i++) ingot_chain_forward(&c, kt[i], k[i]);
    for (int i = 0; i < D; i++) {
        want += (double)q[i] * (double)(k[0][i] - k[1][i]);
        got += (double)qt[i] * (double)(kt[0][i] - kt[1][i]);
    }
    CHECK_NEAR(got, want, 1e-3);
    ingot_chain_inverse(&c, back, kt[0]);
    CHECK_NMSE(back, k[0], D, 1e-11);
}
