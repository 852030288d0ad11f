#include "command.h"
#include "common/json.h"
#include "common/setup.h"
#include "common/system.h"
#include <ingot/eval.h>
#include <math.h>
#include <string.h>

static const char *activations_name(const settings *s) { return s->activations == INGOT_ACT_FLOAT ? "float" : "int8"; }

static json_t *window_json(const ingot_eval_window *w, bool kld) {
    json_t *o = json_object();
    json_put(o, "nll_all", json_number(w->nll_all));
    json_put(o, "nll_second_half", json_number(w->nll_second_half));
    if (!kld) return o;
    json_put(o, "nll_second_half_base", json_number(w->nll_second_half_base));
    json_put(o, "mean", json_number(w->kld_mean));
    json_put(o, "p99", json_number(w->kld_p99));
    json_put(o, "p999", json_number(w->kld_p999));
    json_put(o, "top1_agreement", json_number(w->top1_agreement));
    json_put(o, "ppl", json_number(exp(w->nll_second_half)));
    json_put(o, "ppl_base", json_number(exp(w->nll_second_half_base)));
    return o;
}

static int print_json(const settings *s, const char *method, const ingot_eval_result *r, bool kld) {
    json_t *o = json_object(), *windows = json_array();
    if (kld) {
        json_put(o, "mean", json_number(r->kld_mean));
        json_put(o, "p99", json_number(r->kld_p99));
        json_put(o, "p999", json_number(r->kld_p999));
        json_put(o, "top1_agreement", json_number(r->top1_agreement));
    }
    json_put(o, "ppl", json_number(r->ppl));
    if (kld) json_put(o, "ppl_base", json_number(r->ppl_base));
    json_put(o, "n_tokens", json_integer((json_int_t)r->n_tokens));
    for (int i = 0; i < r->n_windows; i++) json_push(windows, window_json(&r->windows[i], kld));
    json_put(o, "windows", windows);
    json_put(o, "n_ctx", json_integer(s->n_ctx));
    json_put(o, "method", json_text(method));
    json_put(o, "activations", json_text(activations_name(s)));
    return json_print(o);
}

static int print_text(const settings *s, const char *method, const ingot_eval_result *r, bool kld) {
    printf("cache %s, %s activations, %d window%s of %d tokens, %llu tokens scored\n", method, activations_name(s), r->n_windows,
           r->n_windows == 1 ? "" : "s", s->n_ctx, (unsigned long long)r->n_tokens);
    if (!kld) {
        printf("perplexity %.4f\n", r->ppl);
        return CLI_DONE;
    }
    printf("perplexity           %.4f (f16 cache: %.4f)\n", r->ppl, r->ppl_base);
    printf("KL divergence        mean %.6f, 99 %% %.6f, 99.9 %% %.6f nats\n", r->kld_mean, r->kld_p99, r->kld_p999);
    printf("same most probable   %.2f %%\n", 100 * r->top1_agreement);
    return CLI_DONE;
}

static int evaluate(const settings *s, setup *u, const ingot_plan *plan, const int32_t *ids, size_t n, bool kld) {
    u->progress = progress_start(s->quiet);
    const ingot_eval_config config = {.n_ctx = s->n_ctx, .n_windows = s->n_windows, .n_batch = s->n_batch, .plan = *plan,
                                      .activations = (ingot_activations)s->activations,
                                      .progress = progress_callback, .progress_user = &u->progress};
    ingot_eval_result r;
    const ingot_status status = (kld ? ingot_eval_kld : ingot_eval_ppl)(&r, u->model, ids, n, &config);
    progress_wipe(&u->progress);
    if (status == INGOT_E_CANCELLED) return cli_fail("interrupted");
    if (status != INGOT_OK) return cli_fail_status(status);
    char method[INGOT_PLAN_TEXT_BYTES];
    ingot_plan_print(plan, method, sizeof method);
    const int code = (s->json ? print_json : print_text)(s, method, &r, kld);
    ingot_free_memory(r.windows);
    return code;
}

static int run_eval(const settings *s) {
    const char *what = s->positional.n ? s->positional.items[0] : "";
    const bool kld = !strcmp(what, "kld");
    ingot_plan plan;
    if (!kld && strcmp(what, "ppl")) return cli_wrong_use("eval", *what ? "'%s' is neither ppl nor kld" : "say what to measure: ppl or kld", what);
    if (!settings_plan(s, &plan)) return CLI_WRONG_USE;
    setup u = {0};
    strbuf text = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    int code = s->model ? settings_read_text(s, "eval", "text", false, &text) : CLI_DONE;
    system_catch_interrupt(true);
    if (!code) code = setup_model(&u, s, "eval");
    if (!code) {
        const ingot_status status = ingot_model_tokenize(u.model, text.data, text.n, 0, &ids, &n);
        code = status == INGOT_OK ? evaluate(s, &u, &plan, ids, n, kld) : cli_fail_status(status);
    }
    ingot_free_memory(ids);
    strbuf_free(&text);
    setup_close(&u);
    return code;
}

static void defaults(settings *s) {
    s->activations = INGOT_ACT_FLOAT;
    s->n_ctx = 2048;
}

static const option_group *const groups[] = {&settings_model, &settings_text,  &settings_eval, &settings_cache,
                                             &settings_compute, &settings_passes, &settings_json, &settings_quiet, NULL};

const command command_eval = {
    .name = "eval", .summary = "Measure what a cache costs: perplexity (ppl), or KL divergence from the f16 cache (kld)",
    .synopsis = "ppl|kld -m MODEL -f TEXT [options]",
    .details = "The text is cut into consecutive windows. Every token attends to older ones as they are stored, as in generation. "
               "The perplexity is that of the second halves of the windows. kld compares with the same weights and the f16 cache.",
    .groups = groups, .max_positional = 1, .defaults = defaults, .print_more = settings_print_methods, .run = run_eval,
};
