#include "transform_fixture.h"
#include "base/hadamard_signed.h"
#include <math.h>

static void fill_channels(float *list, int dim, ingot_rng *r) {
    for (int i = 0; i < dim; i++) list[i] = (float)i;
    for (int i = dim - 1; i > 0; i--) {
        const int j = (int)(ingot_rng_next(r) % (unsigned)(i + 1));
        const float t = list[i];
        list[i] = list[j], list[j] = t;
    }
}

static void fill_pair(float *a, int dim, ingot_rng *r) {
    float *b = a + (size_t)dim * (size_t)dim;
    for (size_t i = 0, n = (size_t)dim; i < n; i++) {
        const float f = (float)exp(ingot_rng_normal(r));
        for (size_t j = 0; j < n; j++) a[i * n + j] = i == j ? f : 0, b[i * n + j] = i == j ? 1 / f : 0;
        ingot_hadamard_signed(a + i * n, a + i * n, dim);
        ingot_hadamard_signed(b + i * n, b + i * n, dim);
    }
}

bool fixture_cal(float *cal, const ingot_transform *t, int dim, ingot_rng *r) {
    if (t->check(dim)) return false;
    for (int i = 0; i < dim && t->needs == INGOT_CAL_MEAN; i++) cal[i] = (float)ingot_rng_normal(r);
    for (int i = 0; i < dim && t->needs == INGOT_CAL_SMOOTH; i++) cal[i] = (float)exp(ingot_rng_normal(r));
    if (t->needs == INGOT_CAL_OUTLIERS) fill_channels(cal, dim, r);
    if (t->needs == INGOT_CAL_WHITEN) fill_pair(cal, dim, r);
    return true;
}
