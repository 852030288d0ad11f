/* What packed caches cost, against the f16 cache of the same weights with float activations. Simulated independently on float32
 * references, without exact window: q8_0 0.0005 on both models; int4 with groups of 32 0.071 (SmolLM2) and 0.096 (Gemma 3) over
 * windows of 1024 tokens, with groups of 64 0.105 and 0.49. A cache that loses a scale, a sign or a position is far above the
 * bands, one that secretly keeps f16 below. */
#include "reference.h"

static void check_band(const char *name, const char *kv, int n_ctx, double low, double high) {
    static reference r;
    loaded l;
    if (skip_slow() || !reference_read(&r, name) || !load_model(&l, name)) return;
    test_case("%s %s", name, kv);
    ingot_eval_config config = {.n_ctx = n_ctx, .n_windows = 1, .activations = INGOT_ACT_FLOAT};
    ingot_eval_result e;
    if (CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1})) && CHECK_OK(ingot_eval_kld(&e, l.model, r.tokens, (size_t)r.n_tokens, &config))) {
        CHECK(e.kld_mean >= low);
        CHECK(e.kld_mean <= high);
        CHECK(e.kld_p999 >= e.kld_p99 && e.kld_p99 >= e.kld_mean);
        CHECK(e.top1_agreement > (high < 0.01 ? 0.97 : 0.75));
        CHECK_NEAR(log(e.ppl), log(e.ppl_base), 10.0 * high);
        CHECK_INT(e.n_windows, 1);
        CHECK_INT(e.n_tokens, n_ctx - 1);
        CHECK_NEAR(e.windows[0].kld_mean, e.kld_mean, 1e-12);
        ingot_free_memory(e.windows);
    }
    unload_model(&l);
}

TEST("e2e/kld: smollm2 q8_0") { check_band("smollm2", "q8_0", 512, 1e-4, 1.5e-3); }
TEST("e2e/kld: smollm2 int4 in groups of 32") { check_band("smollm2", "int4,group=32", 512, 0.03, 0.13); }
TEST("e2e/kld: gemma3 q8_0") { check_band("gemma3-270m", "q8_0", 192, 1e-4, 1.5e-3); }
TEST("e2e/kld: gemma3 int4 in groups of 32") { check_band("gemma3-270m", "int4,group=32", 192, 0.015, 0.15); }

TEST("e2e/kld: f16 against itself is zero, and an exact window helps") {
    static reference r;
    loaded l;
    if (skip_slow() || !reference_read(&r, "smollm2") || !load_model(&l, "smollm2")) return;
    ingot_eval_config config = {.n_ctx = 256, .n_windows = 1, .first_window = 3, .activations = INGOT_ACT_INT8};
    ingot_eval_result e;
    double without = 0.0;
    if (CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1})) && CHECK_OK(ingot_eval_kld(&e, l.model, r.tokens, (size_t)r.n_tokens, &config))) {
        CHECK_NEAR(e.kld_mean, 0.0, 0.0);
        CHECK_NEAR(e.top1_agreement, 1.0, 0.0);
        CHECK_NEAR(e.ppl, e.ppl_base, 0.0);
        ingot_free_memory(e.windows);
    }
    config.activations = INGOT_ACT_FLOAT;
    if (CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "int4,group=32", .window = -1, .sinks = -1})) && CHECK_OK(ingot_eval_kld(&e, l.model, r.tokens, (size_t)r.n_tokens, &config))) {
        without = e.kld_mean;
        ingot_free_memory(e.windows);
    }
    if (CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "int4,group=32", .window = 128, .sinks = 4})) && CHECK_OK(ingot_eval_kld(&e, l.model, r.tokens, (size_t)r.n_tokens, &config))) {
        CHECK(e.kld_mean < 0.5 * without);
        CHECK(e.kld_mean > 0.0);
        ingot_free_memory(e.windows);
    }
    unload_model(&l);
}

static bool cancel(void *user, const char *what, double fraction) {
    ++*(int *)user;
    return !what || fraction < 0.1;
}

TEST("e2e/kld: wrong use and cancelling") {
    static reference r;
    loaded l;
    if (!reference_read(&r, "smollm2") || !load_model(&l, "smollm2")) return;
    ingot_eval_config config = {.n_ctx = 512, .activations = INGOT_ACT_INT8};
    ingot_eval_result e;
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "q8_0", .window = -1, .sinks = -1}));
    CHECK_STATUS(ingot_eval_ppl(&e, l.model, r.tokens, 511, &config), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "511");
    CHECK_HAS(ingot_last_error(), "512");
    CHECK(e.windows == NULL);
    config.n_windows = 4;
    CHECK_STATUS(ingot_eval_kld(&e, l.model, r.tokens, 3 * 512, &config), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "2048");
    config.n_windows = 1;
    const int32_t bad[4] = {1, 2, 49152, 3};
    config.n_ctx = 4;
    CHECK_STATUS(ingot_eval_ppl(&e, l.model, bad, 4, &config), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "49152");
    config.n_ctx = 1;
    CHECK_STATUS(ingot_eval_ppl(&e, l.model, r.tokens, 100, &config), INGOT_E_INVALID);

    int calls = 0;
    config.n_ctx = 64;
    config.n_windows = 0;
    config.progress = cancel;
    config.progress_user = &calls;
    CHECK_STATUS(ingot_eval_ppl(&e, l.model, r.tokens, 640, &config), INGOT_E_CANCELLED);
    CHECK_INT(calls, 2); /* the second of ten windows begins at 0.1 */
    unload_model(&l);
}
