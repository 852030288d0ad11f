/* Vector operations on every instruction set against the scalar reference. */
#include "backend/backend.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "test.h"
#include <stdlib.h>

enum { MAX = 2100, GAP = 16 };
static const ingot_isa levels[] = {INGOT_ISA_REF, INGOT_ISA_AVX2, INGOT_ISA_AVX512};
static const int sizes[] = {1, 7, 8, 15, 16, 17, 64, 100, 576, 640, 2048, 2051};
enum { N_SIZES = (int)(sizeof sizes / sizeof sizes[0]) };
static float x[MAX + GAP], w[MAX + GAP], want[MAX + GAP], got[MAX + GAP];

/* Float sums and functions against double: a few units in the last place of each value. */
#define NMSE_FLOAT 1e-13

static void fill(ingot_rng *r, float *p, float sigma) {
    for (int i = 0; i < MAX + GAP; i++) p[i] = sigma * (float)ingot_rng_normal(r);
}

/* Calls `body(ref, cpu)` once for each level, with the level forced. */
static void each_level(void (*body)(const ingot_backend *ref, const ingot_backend *cpu)) {
    const ingot_isa before = ingot_cpu_get()->isa;
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        if (!ingot_cpu_force(levels[l])) continue;
        body(ingot_backend_find("ref"), ingot_backend_find("cpu"));
    }
    ingot_cpu_force(before);
}

static const char *level(void) { return ingot_isa_name(ingot_cpu_get()->isa); }

/* The first n of got and want agree, the rest of got is untouched (still x). */
static void same(int n, double nmse) {
    CHECK_NMSE(got, want, (size_t)n, nmse);
    CHECK_MEM(got + n, x + n, GAP * sizeof(float));
}

static void norm_cases(const ingot_backend *ref, const ingot_backend *cpu) {
    ingot_rng r = {1};
    for (int i = 0; i < N_SIZES; i++) {
        const int dim = sizes[i], n = MAX / (dim + 3) < 4 ? 1 : 4, stride = dim + 3;
        test_case("%s: %d rows of %d", level(), n, dim);
        fill(&r, x, 3.f);
        fill(&r, w, 1.f);
        memcpy(got, x, sizeof got);
        memcpy(want, x, sizeof want);
        cpu->rmsnorm(got, stride, got, stride, w, n, dim, 1e-5f); /* in place */
        ref->rmsnorm(want, stride, x, stride, w, n, dim, 1e-5f);
        same((n - 1) * stride + dim, NMSE_FLOAT);
        for (int t = 0; t + 1 < n; t++) CHECK_MEM(got + t * stride + dim, x + t * stride + dim, 3 * sizeof(float));
    }
}
TEST("check/vector: rmsnorm") { each_level(norm_cases); }

static void norm_limits(const ingot_backend *ref, const ingot_backend *cpu) {
    (void)ref;
    test_case("%s", level());
    for (int i = 0; i < 64; i++) x[i] = 0.f, w[i] = 2.f;
    cpu->rmsnorm(got, 64, x, 64, w, 1, 64, 1e-5f);
    for (int i = 0; i < 64; i++) CHECK(got[i] == 0.f);
    for (int i = 0; i < 64; i++) x[i] = i % 2 ? 3.f : -3.f;
    cpu->rmsnorm(got, 64, x, 64, w, 1, 64, 0.f);
    for (int i = 0; i < 64; i++) CHECK_NEAR(got[i], i % 2 ? 2. : -2., 1e-6);
}
TEST("check/vector: rmsnorm of zeros and of equal numbers") { each_level(norm_limits); }

static void rope_cases(const ingot_backend *ref, const ingot_backend *cpu) {
    static const struct { int dim, rot, heads; } shapes[] = {{64, 64, 3}, {128, 64, 2}, {80, 80, 2}, {96, 20, 1}, {256, 256, 2}};
    enum { TOKENS = 3 };
    static float c[TOKENS * 128], s[TOKENS * 128];
    ingot_rng r = {2};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int neox = 0; neox < 2; neox++) {
            const int half = shapes[i].rot / 2, stride = shapes[i].heads * shapes[i].dim + 5;
            for (int k = 0; k < TOKENS * half; k++) {
                const double angle = 6.3 * ingot_rng_uniform(&r);
                c[k] = (float)cos(angle), s[k] = (float)sin(angle);
            }
            test_case("%s: head %d, %d turned, %s", level(), shapes[i].dim, shapes[i].rot, neox ? "apart" : "beside");
            fill(&r, x, 1.f);
            memcpy(got, x, sizeof got);
            memcpy(want, x, sizeof want);
            ingot_rope_args a = {got, stride, TOKENS, shapes[i].heads, shapes[i].dim, shapes[i].rot, neox, c, s};
            cpu->rope(&a);
            a.x = want;
            ref->rope(&a);
            same(TOKENS * stride, NMSE_FLOAT);
            for (int k = shapes[i].rot; k < shapes[i].dim; k++) CHECK(got[k] == x[k]); /* the rest of a head stays */
            for (int k = 0; k < 2; k++) { /* lengths of pairs stay */
                const int b = neox ? half : 1;
                CHECK_NEAR(hypot(got[0], got[b]), hypot(x[0], x[b]), 1e-6);
            }
        }
    }
}
TEST("check/vector: rope, both pairings, part of a head") { each_level(rope_cases); }

static void glu_cases(const ingot_backend *ref, const ingot_backend *cpu) {
    ingot_rng r = {3};
    for (int i = 0; i < N_SIZES; i++) {
        for (int act = 0; act < 2; act++) {
            test_case("%s: act %d, %d", level(), act, sizes[i]);
            fill(&r, x, 4.f);
            fill(&r, w, 1.f);
            memcpy(got, x, sizeof got);
            cpu->glu(got, got, w, (size_t)sizes[i], (ingot_act)act); /* in place */
            ref->glu(want, x, w, (size_t)sizes[i], (ingot_act)act);
            same(sizes[i], NMSE_FLOAT);
        }
    }
}
TEST("check/vector: gated activations") { each_level(glu_cases); }

/* Each value by itself over the whole range: relative error 2e-6, values below 1e-30 count as zero. */
static void glu_range(const ingot_backend *ref, const ingot_backend *cpu) {
    for (int act = 0; act < 2; act++) {
        for (int i = 0; i < MAX; i++) {
            x[i] = (i < 1050 ? (float)(i - 525) * 0.02f : (float)(i - 1575) * 1.f);
            w[i] = 1.f;
        }
        x[0] = 1e30f, x[1] = -1e30f, x[2] = 1e-20f, x[3] = -1e-20f, x[4] = 0.f;
        cpu->glu(got, x, w, MAX, (ingot_act)act);
        ref->glu(want, x, w, MAX, (ingot_act)act);
        for (int i = 0; i < MAX; i++) {
            test_case("%s: act %d of %g", level(), act, (double)x[i]);
            CHECK_NEAR(got[i], want[i], 2e-6 * fabs((double)want[i]) + (x[i] < -4.f ? 2e-6 : 1e-30));
        }
        x[0] = NAN;
        cpu->glu(got, x, w, 32, (ingot_act)act);
        CHECK(isnan(got[0]) && !isnan(got[1]));
    }
}
TEST("check/vector: activations over their range") { each_level(glu_range); }

static void add_scale(const ingot_backend *ref, const ingot_backend *cpu) {
    ingot_rng r = {4};
    for (int i = 0; i < N_SIZES; i++) {
        test_case("%s: %d", level(), sizes[i]);
        fill(&r, x, 1.f);
        fill(&r, w, 1.f);
        memcpy(got, x, sizeof got);
        memcpy(want, x, sizeof want);
        cpu->add(got, w, (size_t)sizes[i]);
        ref->add(want, w, (size_t)sizes[i]);
        same(sizes[i], 0);
        cpu->scale(got, 1.7f, (size_t)sizes[i]);
        ref->scale(want, 1.7f, (size_t)sizes[i]);
        same(sizes[i], 0);
    }
}
TEST("check/vector: add and scale are exact") { each_level(add_scale); }
