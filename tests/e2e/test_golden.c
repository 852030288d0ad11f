/* The engine against the float32 reference of both test models.
 *
 * Tolerances. With float activations the engine differs from the reference by the rounding of keys and values to f16 (relative
 * 2^-11) and by the order of float sums: measured 0.00015 nats at most on window means and 0.0026 on single log-probabilities (the
 * figures are rounded to 1e-5 and 1e-4). The limits are three to four times that; a wrong norm epsilon, RoPE base or scale
 * costs 0.01 nats and more. Int8 activations move a row by a divergence of 0.002 to 0.003 (llama.cpp, which quantises the same way:
 * 0.003 to 0.005) and window means by up to 0.008 (llama.cpp: 0.013). */
#include "reference.h"

#define NLL_FLOAT 0.0005
#define LOGPROB_FLOAT 0.01
#define NLL_INT8 0.02
#define LOGPROB_INT8 0.5

static const char *const models[] = {"smollm2", "gemma3-270m"};

static void check_window(const reference *r, const ref_window *w, ingot_model *model, ingot_activations act, double tolerance) {
    ingot_eval_config config = {.n_ctx = w->ctx, .n_windows = 1, .first_window = w->index, .activations = act};
    ingot_eval_result result;
    if (!CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}))) return;
    if (!CHECK_OK(ingot_eval_ppl(&result, model, r->tokens, (size_t)r->n_tokens, &config))) return;
    CHECK_NEAR(result.windows[0].nll_all, w->nll_all, tolerance);
    CHECK_NEAR(result.windows[0].nll_second_half, w->nll_second_half, tolerance);
    CHECK_NEAR(result.ppl, exp(w->nll_second_half), 2.0 * tolerance * exp(w->nll_second_half));
    ingot_free_memory(result.windows);
}

static void check_windows(const char *name, ingot_activations act, double tolerance, int n_short, bool with_long) {
    static reference r;
    loaded l;
    if (!reference_read(&r, name) || !load_model(&l, name)) return;
    for (int i = 0; i < r.n_windows; i++) {
        if (r.windows[i].ctx > 512 ? !with_long : n_short-- <= 0) continue;
        test_case("%s window %d of %d tokens", name, r.windows[i].index, r.windows[i].ctx);
        check_window(&r, &r.windows[i], l.model, act, tolerance);
    }
    unload_model(&l);
}

TEST("e2e/golden: smollm2 windows, float activations") { if (!skip_slow()) check_windows("smollm2", INGOT_ACT_FLOAT, NLL_FLOAT, 3, true); }
TEST("e2e/golden: gemma3 windows, float activations") { if (!skip_slow()) check_windows("gemma3-270m", INGOT_ACT_FLOAT, NLL_FLOAT, 1, true); }
TEST("e2e/golden: smollm2 windows, int8 activations") { if (!skip_slow()) check_windows("smollm2", INGOT_ACT_INT8, NLL_INT8, 2, false); }
TEST("e2e/golden: gemma3 windows, int8 activations") { if (!skip_slow()) check_windows("gemma3-270m", INGOT_ACT_INT8, NLL_INT8, 1, false); }

/* The window's tokens up to `pos` are fed, then the row behind it is compared. */
static void check_tops(const reference *r, ingot_model *model, ingot_activations act, double tolerance) {
    ingot_engine *engine = open_engine(model, "f16", 512, 1, 0, act);
    ingot_session *session = NULL;
    ingot_model_info info;
    ingot_model_info_get(model, &info);
    if (!engine || !CHECK_OK(ingot_session_create(&session, engine))) return;
    static int32_t window[512];
    for (int i = 0; i < 512; i++) window[i] = r->tokens[i];
    if (ingot_model_adds_bos(model)) window[0] = ingot_model_bos(model);
    for (int i = 0; i < r->n_tops; i++) {
        const ref_top *t = &r->tops[i];
        if (t->ctx != 512 || (SLOW_BUILD && t->pos > 63)) continue;
        const int held = ingot_session_tokens(session);
        const float *logits;
        if (!CHECK_OK(ingot_session_prefill(session, window + held, t->pos + 1 - held, &logits, NULL, NULL))) break;
        const double lse = log_sum(logits, info.n_vocab);
        for (int k = 0; k < REF_TOP; k++) {
            test_case("position %d, token %d", t->pos, t->id[k]);
            CHECK_NEAR((double)logits[t->id[k]] - lse, t->logprob[k], tolerance);
        }
    }
    ingot_session_destroy(session);
    ingot_engine_destroy(engine);
}

typedef void (*model_check)(const reference *r, ingot_model *model, ingot_activations act, double tolerance);

static void on_each_model(model_check check, ingot_activations act, double tolerance) {
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        static reference r;
        loaded l;
        if (!reference_read(&r, models[m]) || !load_model(&l, models[m])) return;
        check(&r, l.model, act, tolerance);
        unload_model(&l);
    }
}

TEST("e2e/golden: most probable tokens, float activations") { on_each_model(check_tops, INGOT_ACT_FLOAT, LOGPROB_FLOAT); }
TEST("e2e/golden: most probable tokens, int8 activations") { on_each_model(check_tops, INGOT_ACT_INT8, LOGPROB_INT8); }

/* Steps whose margin is below this may go either way; the reference's token is fed all the same. */
#define MARGIN_FLOAT 0.01
#define MARGIN_INT8 0.3

static void check_continuation(const ref_greedy *g, ingot_model *model, ingot_activations act, double margin) {
    ingot_engine *engine = open_engine(model, "f16", 128, 1, 0, act);
    ingot_session *session = NULL;
    ingot_model_info info;
    ingot_model_info_get(model, &info);
    const float *logits;
    if (!engine || !CHECK_OK(ingot_session_create(&session, engine)) || !CHECK_OK(ingot_session_prefill(session, g->prompt, g->n_prompt, &logits, NULL, NULL))) return;
    for (int i = 0; i < (SLOW_BUILD ? 4 : g->n); i++) {
        test_case("greedy token %d, margin %g", i, g->margin[i]);
        if (g->margin[i] >= margin) CHECK_INT(argmax(logits, info.n_vocab), g->text[i]);
        const ingot_batch_token next = {session, g->text[i], true};
        if (!CHECK_OK(ingot_engine_forward(engine, &next, 1, &logits))) break;
    }
    ingot_session_destroy(session);
    ingot_engine_destroy(engine);
}

static void check_greedy(const reference *r, ingot_model *model, ingot_activations act, double margin) {
    for (int i = 0; i < r->n_greedy; i++) check_continuation(&r->greedy[i], model, act, margin);
}

TEST("e2e/golden: greedy continuations, float activations") { on_each_model(check_greedy, INGOT_ACT_FLOAT, MARGIN_FLOAT); }
TEST("e2e/golden: greedy continuations, int8 activations") { on_each_model(check_greedy, INGOT_ACT_INT8, MARGIN_INT8); }
