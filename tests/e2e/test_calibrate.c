/* Calibrations of real models: what is in them, that they help, and whom they are refused to. */
#include "reference.h"
#include <ingot/calibrate.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_CTX = SLOW_BUILD ? 96 : 512 };

static void calibration_path(char path[300], const char *name) {
    const char *tmp = getenv("TMPDIR");
    snprintf(path, 300, "%s/ingot-e2e-%s-%d.ingotcal", tmp && strlen(tmp) < 200 ? tmp : P_tmpdir, name, (int)getpid());
}

/* Of the last tokens of the reference text; tests use its first ones. */
static bool calibrate(ingot_calibrate_result *result, const loaded *l, const reference *r, const char *path) {
    const ingot_calibrate_config config = {.n_ctx = N_CTX, .n_windows = 2, .no_codebooks = true, .source = "the reference text"};
    return CHECK_OK(ingot_calibrate(result, l->model, r->tokens + r->n_tokens - 2 * N_CTX, 2 * (size_t)N_CTX, &config, path));
}

static double divergence(const loaded *l, const reference *r, const char *kv, const ingot_calibration *c) {
    ingot_eval_config config = {.n_ctx = 512, .n_windows = 1, .activations = INGOT_ACT_FLOAT, .calibration = c};
    ingot_eval_result e;
    if (!CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = kv, .window = 32, .sinks = 4})) ||
        !CHECK_OK(ingot_eval_kld(&e, l->model, r->tokens, (size_t)r->n_tokens, &config)))
        return NAN;
    ingot_free_memory(e.windows);
    return e.kld_mean;
}

static void check_model(const char *name, double least_gain) {
    static reference r;
    loaded l;
    char path[300];
    ingot_calibrate_result result;
    ingot_calibration *c = NULL;
    if (!reference_read(&r, name) || !load_model(&l, name)) return;
    calibration_path(path, name);
    if (calibrate(&result, &l, &r, path) && CHECK_OK(ingot_calibration_open(&c, path))) {
        ingot_model_info info;
        ingot_model_info_get(l.model, &info);
        CHECK_INT(result.n_query_heads, info.n_layers * info.n_heads);
        CHECK_INT(result.n_kv_heads, info.n_layers * info.n_kv_heads);
        CHECK(result.whitened && result.n_books == 0);
        CHECK(result.positive_mean > 0.99 && result.positive_min > 0.9); /* nearly all queries of a head lie on one side */
        CHECK_INT(result.n_audited, (info.n_layers - info.n_sliding_layers) * info.n_heads);
        size_t n = 0;
        CHECK(ingot_calibration_get(c, INGOT_CAL_WHITEN, 0, 0, false, info.n_layers - 1, info.n_kv_heads - 1, &n) != NULL);
        CHECK_INT(n, 2 * info.k_dim * info.k_dim);
        CHECK_OK(ingot_model_check_calibration(l.model, c));
        if (!SLOW_BUILD) CHECK(divergence(&l, &r, "wush3", c) < divergence(&l, &r, "turboquant3", NULL) / least_gain);
    }
    ingot_calibration_close(c);
    remove(path);
    unload_model(&l);
}

/* Simulated independently over 1024 tokens: 2.6 times on SmolLM2 and 20 times on Gemma 3, whose keys share a strong direction. */
TEST("e2e/calibrate: smollm2") { check_model("smollm2", 1.5); }
TEST("e2e/calibrate: gemma3") { check_model("gemma3-270m", 4.0); }

/* The file, cut at several places. */
static void check_cut(const char *path, const char *cut_path) {
    FILE *f = fopen(path, "rb");
    if (!CHECK(f != NULL)) return;
    char *bytes = malloc(1 << 25);
    const size_t n = bytes ? fread(bytes, 1, 1 << 25, f) : 0;
    fclose(f);
    const size_t sizes[] = {0, 7, 40, 4000, n / 2, n - 1};
    for (size_t i = 0; CHECK(n > 100000) && i < sizeof sizes / sizeof sizes[0]; i++) {
        ingot_calibration *c = NULL;
        f = fopen(cut_path, "wb");
        if (!CHECK(f != NULL)) break;
        CHECK_INT(fwrite(bytes, 1, sizes[i], f), sizes[i]);
        fclose(f);
        CHECK_STATUS(ingot_calibration_open(&c, cut_path), INGOT_E_FORMAT);
        CHECK(c == NULL);
        CHECK_HAS(ingot_last_error(), cut_path);
    }
    free(bytes);
    remove(cut_path);
}

TEST("e2e/calibrate: another model's calibration and a cut one are refused") {
    static reference r;
    loaded small, other;
    char path[300], cut[300];
    ingot_calibrate_result result;
    ingot_calibration *c = NULL;
    ingot_engine *engine = NULL;
    if (!reference_read(&r, "smollm2") || !load_model(&small, "smollm2")) return;
    calibration_path(path, "foreign");
    calibration_path(cut, "cut");
    if (load_model(&other, "gemma3-270m")) {
        if (calibrate(&result, &small, &r, path) && CHECK_OK(ingot_calibration_open(&c, path))) {
            ingot_engine_config config = {.n_ctx = 128, .max_sessions = 1, .calibration = c};
            CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "wush4", .window = -1, .sinks = -1}));
            CHECK_STATUS(ingot_engine_create(&engine, other.model, &config), INGOT_E_INVALID);
            CHECK_HAS(ingot_last_error(), "another model");
            CHECK_HAS(ingot_last_error(), "the reference text");
            CHECK(engine == NULL);
            check_cut(path, cut);
        }
        ingot_calibration_close(c);
        remove(path);
        unload_model(&other);
    }
    unload_model(&small);
}
