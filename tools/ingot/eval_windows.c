/* ingot eval ppl and kld. */
#include "eval_common.h"
#include <ingot/eval.h>
#include <math.h>

static json_t *window_json(const ingot_eval_window *w, bool kld) {
    json_t *o = json_object();
    json_put(o, "nll_all", json_number(w->nll_all));
    json_put(o, "nll_second_half", json_number(w->nll_second_half));
    if (!kld) return o;
    json_put(o, "nll_second_half_base", json_number(w->nll_second_half_base));
    EVAL_PUT_KLD(o, w);
    json_put(o, "ppl", json_number(exp(w->nll_second_half)));
    json_put(o, "ppl_base", json_number(exp(w->nll_second_half_base)));
    return o;
}

static int print_json(const settings *s, const char *method, const ingot_eval_result *r, bool kld) {
    json_t *o = json_object(), *windows = json_array();
    if (kld) EVAL_PUT_KLD(o, r);
    json_put(o, "ppl", json_number(r->ppl));
    if (kld) json_put(o, "ppl_base", json_number(r->ppl_base));
    json_put(o, "n_tokens", json_integer((json_int_t)r->n_tokens));
    for (int i = 0; i < r->n_windows; i++) json_push(windows, window_json(&r->windows[i], kld));
    json_put(o, "windows", windows);
    json_put(o, "n_ctx", json_integer(s->n_ctx));
    json_put(o, "method", json_text(method));
    json_put(o, "activations", json_text(eval_activations(s)));
    json_put(o, "stream", json_boolean(s->stream));
    return json_print(o);
}

static int print_text(const settings *s, const char *method, const ingot_eval_result *r, bool kld) {
    printf("cache %s, %s activations, %s, %d window%s of %d tokens, %llu tokens scored\n", method, eval_activations(s),
           s->stream ? "token by token" : "in batches", r->n_windows, r->n_windows == 1 ? "" : "s", s->n_ctx, (unsigned long long)r->n_tokens);
    if (!kld) {
        printf("perplexity %.4f\n", r->ppl);
        return CLI_DONE;
    }
    const double *q = r->kld_quarter;
    char text[32];
    printf("perplexity            %.4f (f16 cache: %.4f)\n", r->ppl, r->ppl_base);
    printf("KL divergence         mean %.6f, 99 %% %.6f, 99.9 %% %.6f, maximum %.6f nats\n", r->kld_mean, r->kld_p99, r->kld_p999, r->kld_max);
    printf("  by quarter         ");
    for (int i = 0; i < 4; i++) printf(" %s", eval_figure(text, sizeof text, "%.6f", q[i]));
    printf("\n");
    printf("same most probable    %.2f %%\n", 100 * r->top1_agreement);
    printf("p(right) - p_f16      RMS %.3f %%, mean %+.3f %%\n", r->rms_dp, r->mean_dp);
    return CLI_DONE;
}

static int measure(const settings *s, eval_job *j, bool kld) {
    j->u.progress = progress_start(s->quiet);
    const ingot_eval_config config = {.n_ctx = s->n_ctx, .n_windows = s->n_windows, .n_batch = s->n_batch, .plan = j->plan.plan,
                                      .calibration = j->plan.calibration, .stream = j->plan.stream,
                                      .activations = (ingot_activations)s->activations,
                                      .progress = progress_callback, .progress_user = &j->u.progress};
    ingot_eval_result r;
    const ingot_status status = (kld ? ingot_eval_kld : ingot_eval_ppl)(&r, j->u.model, j->ids, j->n_ids, &config);
    progress_wipe(&j->u.progress);
    if (status != INGOT_OK) return eval_fail(status);
    char method[INGOT_PLAN_TEXT_BYTES];
    ingot_plan_print(&j->plan.plan, method, sizeof method);
    const int code = (s->json ? print_json : print_text)(s, method, &r, kld);
    ingot_free_memory(r.windows);
    return code;
}

static int run(const settings *s, const char *command, bool kld) {
    eval_job j = {0};
    int code = eval_open(&j, s, command, true);
    if (!code) code = measure(s, &j, kld);
    eval_close(&j);
    return code;
}

static int run_ppl(const settings *s) { return run(s, "eval ppl", false); }
static int run_kld(const settings *s) { return run(s, "eval kld", true); }

static const option_group *const groups[] = {&settings_model, &settings_text, &settings_eval, &settings_stream, &settings_cache,
                                             &settings_compute, &settings_passes, &settings_json, &settings_quiet, NULL};

const command eval_ppl = {
    .name = "eval ppl", .summary = "Perplexity of a text", .synopsis = "-m MODEL -f TEXT [options]",
    .details = "The text is cut into consecutive windows. Every token attends to older ones as they are stored, as in generation. "
               "The perplexity is that of the second halves of the windows.",
    .groups = groups, .defaults = eval_defaults, .print_more = settings_print_methods, .run = run_ppl,
};

const command eval_kld = {
    .name = "eval kld", .summary = "KL divergence from the same weights with the f16 cache", .synopsis = "-m MODEL -f TEXT [options]",
    .details = "The text is cut into consecutive windows, and each is read with the given cache and with f16 at the same time.",
    .groups = groups, .defaults = eval_defaults, .print_more = settings_print_methods, .run = run_kld,
};
