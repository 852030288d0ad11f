/* Windows of a text through the engine, as in generation: each token attends to older tokens as the cache has packed them. For KLD a
 * second engine with the f16 cache runs beside, and both rows of logits of a position are compared at once, so that no full set of logits is kept. */
#include <ingot/eval.h>
#include "../base/alloc.h"
#include "../base/error.h"
#include "logprob.h"
#include <math.h>
#include <stdio.h>

/* One engine and the session that is fed. */
typedef struct track {
    ingot_engine *engine;
    ingot_session *session;
    ingot_batch_token *batch; /* [n_batch] */
} track;

typedef struct evaluation {
    const ingot_eval_config *config;
    ingot_model *model;
    ingot_model_info info;
    track plan, base; /* base.engine is NULL without KLD */
    int32_t *window;  /* [n_ctx] tokens */
    double *nll, *nll_base, *kld, *sorted; /* [n_ctx]: of token i + 1 at position i */
    double *all_kld;  /* [n_windows * (n_ctx - 1)] */
    bool *same_top;   /* [n_ctx] */
} evaluation;

/* Rows of logits that are being scored, from position `first` of the window. */
typedef struct rows { evaluation *ev; int first; const float *plan, *base; } rows;

static void score_row(void *user, int i) {
    const rows *r = user;
    evaluation *ev = r->ev;
    const int n = ev->info.n_vocab, at = r->first + i;
    const int32_t next = ev->window[at + 1];
    const float *y = r->plan + (size_t)i * (size_t)n;
    if (!r->base) {
        int top;
        ev->nll[at] = ingot_log_sum_exp(y, n, &top) - (double)y[next];
        return;
    }
    const float *x = r->base + (size_t)i * (size_t)n;
    const ingot_divergence d = ingot_logits_divergence(x, y, n);
    ev->nll[at] = d.lse_q - (double)y[next];
    ev->nll_base[at] = d.lse_p - (double)x[next];
    ev->kld[at] = d.kl;
    ev->same_top[at] = d.top_p == d.top_q;
}

static ingot_status open_track(track *t, evaluation *ev, const ingot_plan *plan) {
    const ingot_engine_config config = {.plan = *plan, .n_ctx = ev->config->n_ctx, .max_sessions = 1,
                                         .n_batch = ev->config->n_batch, .activations = ev->config->activations};
    INGOT_TRY(ingot_engine_create(&t->engine, ev->model, &config));
    INGOT_TRY(ingot_session_create(&t->session, t->engine));
    t->batch = ingot_alloc_array((size_t)ingot_engine_n_batch(t->engine), sizeof *t->batch, INGOT_MEM_SCRATCH);
    return t->batch ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for a batch");
}

static void close_track(track *t) {
    ingot_dealloc(t->batch);
    ingot_session_destroy(t->session);
    ingot_engine_destroy(t->engine);
}

/* Tokens [first, first + n) of the window; logits of all but the window's last token are wanted. */
static ingot_status feed(const track *t, const evaluation *ev, int first, int n) {
    for (int i = 0; i < n; i++) t->batch[i] = (ingot_batch_token){t->session, ev->window[first + i], first + i + 1 < ev->config->n_ctx};
    return ingot_engine_forward(t->engine, t->batch, n, NULL);
}

static ingot_status feed_and_score(evaluation *ev, int first, int n) {
    INGOT_TRY(feed(&ev->plan, ev, first, n));
    if (ev->base.engine) INGOT_TRY(feed(&ev->base, ev, first, n));
    const int wanted = first + n < ev->config->n_ctx ? n : n - 1, most = ingot_engine_max_logits(ev->plan.engine);
    for (int at = 0; at < wanted; at += most) {
        const int len = wanted - at < most ? wanted - at : most;
        rows r = {.ev = ev, .first = first + at};
        INGOT_TRY(ingot_engine_logits(ev->plan.engine, at, len, &r.plan));
        if (ev->base.engine) INGOT_TRY(ingot_engine_logits(ev->base.engine, at, len, &r.base));
        ingot_engine_parallel(ev->plan.engine, len, score_row, &r);
    }
    return INGOT_OK;
}

/* Mean of v[from..n_ctx-2], that is of tokens from+1 on. */
static double mean_from(const evaluation *ev, const double *v, int from) {
    double sum = 0.0;
    for (int i = from; i < ev->config->n_ctx - 1; i++) sum += v[i];
    return sum / (ev->config->n_ctx - 1 - from);
}

static ingot_status report(const evaluation *ev, int done_windows, int n_windows, int done_tokens) {
    const ingot_eval_config *c = ev->config;
    if (!c->progress) return INGOT_OK;
    char what[64];
    snprintf(what, sizeof what, "window %d of %d", done_windows + 1, n_windows);
    const double part = (double)done_tokens / c->n_ctx;
    return c->progress(c->progress_user, what, (done_windows + part) / n_windows) ? INGOT_OK : ingot_fail(INGOT_E_CANCELLED, "the evaluation was cancelled");
}

static void summarize_window(evaluation *ev, ingot_eval_window *w, double *all_kld) {
    const int n = ev->config->n_ctx, half = n / 2 - 1; /* position whose next token is n / 2 */
    w->nll_all = mean_from(ev, ev->nll, 0);
    w->nll_second_half = mean_from(ev, ev->nll, half);
    if (!ev->base.engine) return;
    w->nll_second_half_base = mean_from(ev, ev->nll_base, half);
    w->kld_mean = mean_from(ev, ev->kld, 0);
    int same = 0;
    for (int i = 0; i < n - 1; i++) {
        same += ev->same_top[i];
        ev->sorted[i] = all_kld[i] = ev->kld[i];
    }
    w->top1_agreement = (double)same / (n - 1);
    w->kld_p99 = ingot_quantile(ev->sorted, (size_t)n - 1, 0.99);
    w->kld_p999 = ingot_quantile(ev->sorted, (size_t)n - 1, 0.999);
}

static ingot_status run_window(evaluation *ev, const int32_t *tokens, int index, int n_windows) {
    const int n = ev->config->n_ctx, step = ingot_engine_n_batch(ev->plan.engine);
    for (int i = 0; i < n; i++) ev->window[i] = tokens[i];
    if (ingot_model_adds_bos(ev->model) && ingot_model_bos(ev->model) >= 0) ev->window[0] = ingot_model_bos(ev->model);
    INGOT_TRY(ingot_session_trim(ev->plan.session, 0));
    if (ev->base.engine) INGOT_TRY(ingot_session_trim(ev->base.session, 0));
    for (int at = 0; at < n; at += step) {
        INGOT_TRY(report(ev, index, n_windows, at));
        INGOT_TRY(feed_and_score(ev, at, n - at < step ? n - at : step));
    }
    for (int i = 0; i < n - 1; i++)
        if (!isfinite(ev->nll[i])) return ingot_fail(INGOT_E_INVALID, "the logits at position %d of window %d are not finite", i, ev->config->first_window + index);
    return INGOT_OK;
}

static void summarize(evaluation *ev, ingot_eval_result *out) {
    double nll = 0.0, base = 0.0;
    for (int w = 0; w < out->n_windows; w++) {
        nll += out->windows[w].nll_second_half;
        base += out->windows[w].nll_second_half_base;
        out->kld_mean += out->windows[w].kld_mean / out->n_windows;
        out->top1_agreement += out->windows[w].top1_agreement / out->n_windows;
    }
    out->ppl = exp(nll / out->n_windows);
    out->n_tokens = (uint64_t)out->n_windows * (uint64_t)(ev->config->n_ctx - 1);
    if (!ev->base.engine) return;
    out->ppl_base = exp(base / out->n_windows);
    out->kld_p99 = ingot_quantile(ev->all_kld, (size_t)out->n_tokens, 0.99);
    out->kld_p999 = ingot_quantile(ev->all_kld, (size_t)out->n_tokens, 0.999);
}

static ingot_status run_windows(evaluation *ev, const int32_t *tokens, ingot_eval_result *out) {
    const size_t n = (size_t)ev->config->n_ctx;
    for (int w = 0; w < out->n_windows; w++) {
        const size_t index = (size_t)ev->config->first_window + (size_t)w;
        INGOT_TRY(run_window(ev, tokens + index * n, w, out->n_windows));
        summarize_window(ev, &out->windows[w], ev->all_kld + (size_t)w * (n - 1));
    }
    summarize(ev, out);
    if (ev->config->progress) ev->config->progress(ev->config->progress_user, "done", 1.0);
    return INGOT_OK;
}

static ingot_status allocate(evaluation *ev, ingot_eval_result *out) {
    const size_t n = (size_t)ev->config->n_ctx, windows = (size_t)out->n_windows;
    ev->window = ingot_alloc_array(n, sizeof *ev->window, INGOT_MEM_OTHER);
    ev->nll = ingot_alloc_array(n, sizeof *ev->nll, INGOT_MEM_OTHER);
    ev->nll_base = ingot_alloc_array(n, sizeof *ev->nll_base, INGOT_MEM_OTHER);
    ev->kld = ingot_alloc_array(n, sizeof *ev->kld, INGOT_MEM_OTHER);
    ev->sorted = ingot_alloc_array(n, sizeof *ev->sorted, INGOT_MEM_OTHER);
    ev->same_top = ingot_alloc_array(n, sizeof *ev->same_top, INGOT_MEM_OTHER);
    ev->all_kld = ingot_alloc_array(windows, (n - 1) * sizeof *ev->all_kld, INGOT_MEM_OTHER);
    out->windows = ingot_alloc_array(windows, sizeof *out->windows, INGOT_MEM_OTHER);
    const bool all = ev->window && ev->nll && ev->nll_base && ev->kld && ev->sorted && ev->same_top && ev->all_kld && out->windows;
    return all ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for %zu windows of %zu tokens", windows, n);
}

static void release(evaluation *ev) {
    void *owned[] = {ev->window, ev->nll, ev->nll_base, ev->kld, ev->sorted, ev->same_top, ev->all_kld};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    close_track(&ev->plan);
    close_track(&ev->base);
}

/* Number of windows to run; the text must hold them. */
static ingot_status count_windows(int *out, size_t n_tokens, const ingot_eval_config *c) {
    if (c->n_ctx < 2) return ingot_fail(INGOT_E_INVALID, "windows of %d tokens, must be at least 2", c->n_ctx);
    if (c->n_windows < 0 || c->first_window < 0) return ingot_fail(INGOT_E_INVALID, "%d windows from window %d on", c->n_windows, c->first_window);
    const size_t whole = n_tokens / (size_t)c->n_ctx, first = (size_t)c->first_window;
    const size_t wanted = c->n_windows ? (size_t)c->n_windows : whole > first ? whole - first : 1;
    if (first + wanted > whole)
        return ingot_fail(INGOT_E_INVALID, "the text has %zu tokens, %zu are needed for %zu window%s of %d tokens%s", n_tokens, (first + wanted) * (size_t)c->n_ctx,
                          first + wanted, first + wanted == 1 ? "" : "s", c->n_ctx, first ? " (those before the first one counted)" : "");
    if (wanted > 1u << 30) return ingot_fail(INGOT_E_INVALID, "%zu windows are too many", wanted);
    *out = (int)wanted;
    return INGOT_OK;
}

static ingot_status check_tokens(const ingot_model_info *info, const int32_t *tokens, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= info->n_vocab) return ingot_fail(INGOT_E_INVALID, "token %zu has id %d, the vocabulary has %d", i, tokens[i], info->n_vocab);
    return INGOT_OK;
}

static ingot_status evaluate(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config, bool kld) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the result");
    *out = (ingot_eval_result){0};
    if (!model || !tokens || !config) return ingot_fail(INGOT_E_INVALID, "an evaluation needs a model, tokens and a configuration");
    evaluation ev = {.config = config, .model = model};
    ingot_model_info_get(model, &ev.info);
    INGOT_TRY(check_tokens(&ev.info, tokens, n));
    INGOT_TRY(count_windows(&out->n_windows, n, config));
    ingot_status s = allocate(&ev, out);
    ingot_plan f16;
    if (s == INGOT_OK) s = open_track(&ev.plan, &ev, &config->plan);
    if (s == INGOT_OK && kld) s = ingot_plan_parse(&f16, "f16", NULL, NULL, 0, 0);
    if (s == INGOT_OK && kld) s = open_track(&ev.base, &ev, &f16);
    if (s == INGOT_OK) s = run_windows(&ev, tokens, out);
    release(&ev);
    if (s == INGOT_OK) return s;
    ingot_dealloc(out->windows);
    *out = (ingot_eval_result){0};
    return s;
}

ingot_status ingot_eval_ppl(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config) {
    return evaluate(out, model, tokens, n, config, false);
}

ingot_status ingot_eval_kld(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config) {
    return evaluate(out, model, tokens, n, config, true);
}
