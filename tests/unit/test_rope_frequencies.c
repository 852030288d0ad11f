/* RoPE frequencies and tables. The YaRN figures were computed separately in double from the formulation in which most models are
 * trained (ramp over pair indices between floor and ceil of the two correction dimensions). */
#include "model/rope.h"
#include "test.h"

typedef struct sample { int j; double freq; } sample;

static void check_samples(const double *freq, const sample *want, int n) {
    for (int i = 0; i < n; i++) {
        test_case("pair %d", want[i].j);
        CHECK_NEAR(freq[want[i].j] / want[i].freq, 1.0, 1e-12);
    }
}

TEST("rope/plain and linear frequencies") {
    ingot_rope_params p = {.n_rot = 8, .base = 10000.0, .factor = 1.0};
    double freq[4], mscale;
    if (!CHECK_OK(ingot_rope_frequencies(&p, freq, &mscale))) return;
    check_samples(freq, (sample[]){{0, 1.0}, {1, 0.1}, {2, 0.01}, {3, 0.001}}, 4);
    CHECK_NEAR(mscale, 1.0, 0.0);
    p.scaling = INGOT_ROPE_LINEAR;
    p.factor = 4.0;
    CHECK_OK(ingot_rope_frequencies(&p, freq, &mscale));
    check_samples(freq, (sample[]){{0, 0.25}, {1, 0.025}, {2, 0.0025}, {3, 0.00025}}, 4);
    CHECK_NEAR(mscale, 1.0, 0.0);
}

TEST("rope/frequency factors divide") {
    const float factors[4] = {1.0f, 2.0f, 8.0f, 0.5f};
    const ingot_rope_params p = {.n_rot = 8, .base = 10000.0, .factor = 1.0, .factors = factors};
    double freq[4], mscale;
    if (CHECK_OK(ingot_rope_frequencies(&p, freq, &mscale))) check_samples(freq, (sample[]){{0, 1.0}, {1, 0.05}, {2, 0.00125}, {3, 0.002}}, 4);
}

TEST("rope/yarn frequencies and mscale") {
    ingot_rope_params p = {.n_rot = 64, .base = 10000.0, .scaling = INGOT_ROPE_YARN, .factor = 4.0, .n_ctx_orig = 4096,
                           .ext_factor = 1.0, .attn_factor = 1.0, .beta_fast = 32.0, .beta_slow = 1.0};
    double freq[64], mscale;
    if (!CHECK_OK(ingot_rope_frequencies(&p, freq, &mscale))) return;
    check_samples(freq, (sample[]){{0, 1}, {5, 0.2371373705661655}, {10, 0.0562341325190349}, {15, 0.009488517882700576}, {20, 0.001337886702378929}, {25, 0.0001874735523331139}, {31, 3.33380358040831e-05}}, 7);
    CHECK_NEAR(mscale, 1.138629436111989, 1e-12);
    p = (ingot_rope_params){.n_rot = 128, .base = 1e6, .scaling = INGOT_ROPE_YARN, .factor = 32.0, .n_ctx_orig = 8192,
                            .ext_factor = 1.0, .attn_factor = 0.5, .beta_fast = 32.0, .beta_slow = 1.0};
    CHECK_OK(ingot_rope_frequencies(&p, freq, &mscale));
    check_samples(freq, (sample[]){{0, 1}, {20, 0.01105548099091285}, {30, 0.0003991353679676257}, {40, 5.557123156371633e-06}, {50, 6.417265707678582e-07}, {63, 3.877930502349124e-08}}, 6);
    CHECK_NEAR(mscale, 0.5 * 1.346573590279973, 1e-12);
}

TEST("rope/table at far positions") {
    double freq[2] = {1.0, 0.001};
    const ingot_rope_spec spec = {.n_rot = 4, .mscale = 2.0, .freq = freq};
    const int positions[3] = {0, 131071, 7};
    float c[6], s[6];
    ingot_rope_table(&spec, positions, 3, c, s);
    for (int i = 0; i < 6; i++) {
        test_case("entry %d", i);
        CHECK_NEAR((double)c[i], 2.0 * cos(positions[i / 2] * freq[i % 2]), 2e-7);
        CHECK_NEAR((double)s[i], 2.0 * sin(positions[i / 2] * freq[i % 2]), 2e-7);
    }
}

TEST("rope/values that make no frequency are refused") {
    const float zero[4] = {1.0f, 0.0f, 1.0f, 1.0f};
    const ingot_rope_params good = {.n_rot = 8, .base = 1e4, .scaling = INGOT_ROPE_YARN, .factor = 2.0, .n_ctx_orig = 100, .ext_factor = 1.0,
                                    .attn_factor = 1.0, .beta_fast = 32.0, .beta_slow = 1.0};
    double freq[4], mscale;
    CHECK_OK(ingot_rope_frequencies(&good, freq, &mscale));
    ingot_rope_params bad[8];
    for (int i = 0; i < 8; i++) bad[i] = good;
    bad[0].n_rot = 7;
    bad[1].base = 1.0;
    bad[2].factor = 0.0;
    bad[3].factors = zero;
    bad[4].n_ctx_orig = 0;
    bad[5].beta_slow = 0.0;
    bad[6].attn_factor = -1.0;
    bad[7].base = (double)INFINITY;
    for (int i = 0; i < 8; i++) {
        test_case("bad value %d", i);
        CHECK_STATUS(ingot_rope_frequencies(&bad[i], freq, &mscale), INGOT_E_FORMAT);
    }
}
