/* Loops over rows of floats have the same bits at every level. */
#include "base/cpu.h"
#include "base/hadamard_signed.h"
#include "base/rng.h"
#include "base/row_ops.h"
#include "test.h"

enum { MOST = 1024 };

static void fill(float *x, int n, ingot_rng *r) {
    for (int i = 0; i < n; i++) {
        const unsigned kind = (unsigned)(ingot_rng_next(r) >> 60);
        const float v = (float)ingot_rng_normal(r);
        x[i] = kind == 0 ? v * 0 : kind == 1 ? v * 1e5f : kind == 2 ? v * 1e-7f : kind == 3 ? v * 1e-40f : kind == 4 ? 65520.0f : v;
    }
}

TEST("base/rows are finite when all elements are, at every place and length") {
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    const ingot_row_ops *ops = ingot_row_ops_get();
    float x[200];
    ingot_rng r = {4};
    bool all = true, none = true;
    for (int n = 1; n <= 200; n += n < 40 ? 1 : 13) {
        for (int i = 0; i < n; i++) {
            fill(x, n, &r);
            for (int j = 0; j < n; j += 5) x[j] = j % 2 ? 3.4e38f : -3.4e38f;
            all = all && ops->finite(x, n);
            x[i] = bad[i % 3];
            none = none && !ops->finite(x, n);
        }
    }
    CHECK(all);
    CHECK(none);
}

TEST("base/rows are rounded to halves as one by one") {
    const ingot_row_ops *ops = ingot_row_ops_get();
    ingot_rng r = {5};
    for (int n = 1; n <= 100; n += 3) {
        float x[100], want[100];
        fill(x, n, &r);
        ingot_row_ops_plain.round_halves(want, x, n);
        ops->round_halves(x, x, n);
        CHECK_MEM(x, want, sizeof(float) * (size_t)n);
    }
}

TEST("base/Walsh-Hadamard transforms have the same bits as the plain loops") {
    const ingot_row_ops *ops = ingot_row_ops_get();
    uint64_t flip[MOST / 64];
    ingot_rng r = {6};
    for (int i = 0; i < MOST / 64; i++) flip[i] = ingot_rng_next(&r);
    for (int n = INGOT_WALSH_LEAST; n <= MOST; n *= 2)
        for (int k = 0; k < 4; k++) {
            float x[MOST], want[MOST], got[MOST];
            const uint64_t *in = k & 1 ? flip : NULL, *out = k & 2 ? flip : NULL;
            fill(x, n, &r);
            test_case("%d, flips %d", n, k);
            ingot_row_ops_plain.walsh(want, x, n, in, out, 0.37f);
            ops->walsh(got, x, n, in, out, 0.37f);
            CHECK_MEM(got, want, sizeof(float) * (size_t)n);
            ops->walsh(x, x, n, in, out, 0.37f);
            CHECK_MEM(x, want, sizeof(float) * (size_t)n);
        }
}
