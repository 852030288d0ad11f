/* What every transform promises, over all head sizes that it accepts. */
#include "test.h"
#include "transform_fixture.h"
#include <ingot/types.h>

enum { D = INGOT_MAX_HEAD_DIM };
static float cal[2 * D * D];

static void normal(float *x, int dim, ingot_rng *r) {
    for (int i = 0; i < dim; i++) x[i] = (float)ingot_rng_normal(r);
}

static double dot(const float *x, const float *y, int dim) {
    double sum = 0;
    for (int i = 0; i < dim; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

/* Calls `fn` for each transform with functions and each head size that it accepts. */
static void each(void (*fn)(const ingot_transform *t, int dim, ingot_rng *r)) {
    static const int dims[] = {16, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 256, 320, 512};
    ingot_rng r = {3};
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
        const ingot_transform *t = ingot_transform_get(i);
        int accepted = 0;
        for (size_t d = 0; d < sizeof dims / sizeof *dims && t->forward; d++) {
            test_case("%s dim %d", t->name, dims[d]);
            if (!fixture_cal(cal, t, dims[d], &r)) continue;
            accepted++;
            fn(t, dims[d], &r);
        }
        test_case("%s", t->name);
        CHECK(!t->forward || accepted >= 5);
    }
}

TEST("transform/rows of the registry are complete") {
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
        const ingot_transform *t = ingot_transform_get(i);
        test_case("row %d", i);
        if (!CHECK(t && t->name && t->description && t->check)) continue;
        CHECK_INT(ingot_transform_find(t->name), i);
        CHECK((t->forward == NULL) == (t->inverse == NULL));
        CHECK(t->forward || !t->query);
        CHECK(!t->running_mean || !t->forward);
        CHECK(t->sides >= 1 && t->sides <= 3 && t->stage < INGOT_N_STAGES);
        CHECK(t->needs == INGOT_CAL_NONE || (t->forward && t->needs >= 0 && t->needs < INGOT_N_CAL_KINDS));
        CHECK(t->check(64) == NULL && t->check(128) == NULL && t->check(256) == NULL);
    }
    CHECK(ingot_transform_get(INGOT_N_TRANSFORMS) == NULL && ingot_transform_get(-1) == NULL);
    CHECK_INT(ingot_transform_find("dct"), -1);
}

static void inverse_undoes(const ingot_transform *t, int dim, ingot_rng *r) {
    float x[D] = {0}, y[D], again[D], place[D];
    normal(x, dim, r);
    t->forward(cal, y, x, dim);
    t->forward(cal, again, x, dim);
    CHECK_MEM(again, y, sizeof(float) * (size_t)dim);
    memcpy(place, x, sizeof place);
    t->forward(cal, place, place, dim);
    CHECK_MEM(place, y, sizeof(float) * (size_t)dim);
    t->inverse(cal, again, y, dim);
    CHECK_NMSE(again, x, (size_t)dim, 1e-10);
    t->inverse(cal, place, place, dim);
    CHECK_MEM(place, again, sizeof(float) * (size_t)dim);
}
TEST("transform/inverse undoes forward, and both work in place") { each(inverse_undoes); }

/* Scores of one query: all keys' move by the same constant. */
static void scores_stay(const ingot_transform *t, int dim, ingot_rng *r) {
    float q[D], qt[D], place[D], k[D];
    double constant = 0;
    if (!(t->sides & 1)) return;
    normal(q, dim, r);
    (t->query ? t->query : t->forward)(cal, qt, q, dim);
    memcpy(place, q, sizeof place);
    (t->query ? t->query : t->forward)(cal, place, place, dim);
    CHECK_MEM(place, qt, sizeof(float) * (size_t)dim);
    for (int i = 0; i < 4; i++) {
        normal(k, dim, r);
        const double want = dot(q, k, dim);
        t->forward(cal, k, k, dim);
        const double moved = dot(qt, k, dim) - want;
        if (i == 0) constant = moved;
        CHECK_NEAR(moved, constant, 1e-3);
    }
    if (t->stage != INGOT_STAGE_CENTER) CHECK_NEAR(constant, 0, 1e-3);
}
TEST("transform/scores stay what they were, up to a constant per query") { each(scores_stay); }

/* Weights that add up to 1: one inverse for the whole sum. */
static void sums_invert(const ingot_transform *t, int dim, ingot_rng *r) {
    static const float weight[4] = {.5f, .25f, .125f, .125f};
    float v[D], want[D] = {0}, sum[D] = {0};
    for (int i = 0; i < 4; i++) {
        normal(v, dim, r);
        for (int j = 0; j < dim; j++) want[j] += weight[i] * v[j];
        t->forward(cal, v, v, dim);
        for (int j = 0; j < dim; j++) sum[j] += weight[i] * v[j];
    }
    t->inverse(cal, sum, sum, dim);
    CHECK_NMSE(sum, want, (size_t)dim, 1e-10);
}
TEST("transform/a weighted sum of stored vectors needs one inverse") { each(sums_invert); }

/* Rotations without calibration keep lengths. */
static void lengths_stay(const ingot_transform *t, int dim, ingot_rng *r) {
    float x[D] = {0};
    if (t->stage != INGOT_STAGE_ROTATE || t->needs == INGOT_CAL_WHITEN) return;
    normal(x, dim, r);
    const double want = dot(x, x, dim);
    t->forward(cal, x, x, dim);
    CHECK_NEAR(dot(x, x, dim) / want, 1, 1e-5);
}
TEST("transform/rotations keep lengths") { each(lengths_stay); }
