/* Windows of a text through engines, as in generation: each token attends to older tokens as the cache has packed them. */
#include "../base/alloc.h"
#include "../base/error.h"
#include "logprob.h"
#include "stats.h"
#include "tracks.h"
#include <math.h>
#include <stdio.h>

typedef struct evaluation {
    const ingot_eval_config *config;
    ingot_model *model;
    eval_tracks set;
    int n_plans, n_windows, n_scored; /* positions of a window: all but the last */
    int window_index;                 /* the one that runs, from 0 */
    int32_t *window;          /* [n_ctx] tokens */
    bool *want;               /* [n_ctx] */
    eval_position *positions; /* [n_plans][n_windows][n_scored]: of token i + 1 at position i */
    double *sorted;           /* [n_windows * n_scored] */
} evaluation;

static eval_position *positions_of(const evaluation *ev, int plan, int window) {
    return ev->positions + ((size_t)plan * (size_t)ev->n_windows + (size_t)window) * (size_t)ev->n_scored;
}

static void score_row(void *user, int track, int row, const float *base, const float *logits) {
    const evaluation *ev = user;
    const int n = ev->set.n_vocab;
    const int32_t next = ev->window[row + 1];
    eval_position *p = positions_of(ev, track, ev->window_index) + row;
    if (!base) {
        int top;
        p->nll = ingot_log_sum_exp(logits, n, &top) - (double)logits[next];
        return;
    }
    const ingot_divergence d = ingot_logits_divergence(base, logits, n);
    *p = (eval_position){.nll = d.lse_q - (double)logits[next], .nll_base = d.lse_p - (double)base[next], .kld = d.kl, .same_top = d.top_p == d.top_q};
}

static ingot_status run_window(evaluation *ev, const int32_t *tokens) {
    const int n = ev->config->n_ctx;
    char what[64];
    snprintf(what, sizeof what, "window %d of %d", ev->window_index + 1, ev->n_windows);
    ev->set.work.what = what;
    INGOT_TRY(ingot_eval_work_add(&ev->set.work, 0));
    for (int i = 0; i < n; i++) ev->window[i] = tokens[i], ev->want[i] = i + 1 < n;
    if (ingot_model_adds_bos(ev->model) && ingot_model_bos(ev->model) >= 0) ev->window[0] = ingot_model_bos(ev->model);
    const eval_sequence q = {ev->window, ev->want, n};
    return ingot_eval_tracks_run(&ev->set, &q, score_row, ev);
}

/* --- results --- */
static void summarize_window(const evaluation *ev, ingot_eval_window *w, const eval_position *p) {
    const int half = ev->config->n_ctx / 2 - 1; /* position whose next token is n_ctx / 2 */
    w->nll_all = ingot_eval_mean_nll(p, 0, ev->n_scored, false);
    w->nll_second_half = ingot_eval_mean_nll(p, half, ev->n_scored, false);
    if (!ev->set.base.engine) return;
    w->nll_second_half_base = ingot_eval_mean_nll(p, half, ev->n_scored, true);
    eval_summary s;
    ingot_eval_summarize(&s, p, 1, ev->n_scored, ev->sorted);
    w->kld_mean = s.mean, w->kld_p99 = s.p99, w->kld_p999 = s.p999, w->kld_max = s.max;
    w->top1_agreement = s.top1_agreement, w->rms_dp = s.rms_dp, w->mean_dp = s.mean_dp;
    for (int i = 0; i < 4; i++) w->kld_quarter[i] = s.quarter[i];
}

static void summarize(const evaluation *ev, ingot_eval_result *out, int plan) {
    double nll = 0.0, base = 0.0;
    for (int w = 0; w < ev->n_windows; w++) {
        summarize_window(ev, &out->windows[w], positions_of(ev, plan, w));
        nll += out->windows[w].nll_second_half;
        base += out->windows[w].nll_second_half_base;
    }
    out->n_windows = ev->n_windows;
    out->n_tokens = (uint64_t)ev->n_windows * (uint64_t)ev->n_scored;
    out->ppl = exp(nll / ev->n_windows);
    if (!ev->set.base.engine) return;
    out->ppl_base = exp(base / ev->n_windows);
    eval_summary s;
    ingot_eval_summarize(&s, positions_of(ev, plan, 0), ev->n_windows, ev->n_scored, ev->sorted);
    out->kld_mean = s.mean, out->kld_p99 = s.p99, out->kld_p999 = s.p999, out->kld_max = s.max;
    out->top1_agreement = s.top1_agreement, out->rms_dp = s.rms_dp, out->mean_dp = s.mean_dp;
    for (int i = 0; i < 4; i++) out->kld_quarter[i] = s.quarter[i];
}

static ingot_status collect(const evaluation *ev, ingot_eval_result *out) {
    for (int i = 0; i < ev->n_plans; i++) {
        const eval_track *t = &ev->set.tracks[i];
        if (!t->engine) {
            out[i].status = t->status;
            snprintf(out[i].message, sizeof out[i].message, "%s", t->message);
            continue;
        }
        out[i].windows = ingot_alloc_array((size_t)ev->n_windows, sizeof *out[i].windows, INGOT_MEM_OTHER);
        if (!out[i].windows) return ingot_fail(INGOT_E_NOMEM, "out of memory for %d windows", ev->n_windows);
        summarize(ev, &out[i], i);
        ingot_cache_memory_get(ingot_engine_cache(t->engine), &out[i].memory);
    }
    return INGOT_OK;
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

static ingot_status allocate(evaluation *ev) {
    const size_t n = (size_t)ev->config->n_ctx, scored = (size_t)ev->n_scored, windows = (size_t)ev->n_windows;
    ev->window = ingot_alloc_array(n, sizeof *ev->window, INGOT_MEM_OTHER);
    ev->want = ingot_alloc_array(n, sizeof *ev->want, INGOT_MEM_OTHER);
    ev->sorted = ingot_alloc_array(windows, scored * sizeof *ev->sorted, INGOT_MEM_OTHER);
    ev->positions = ingot_alloc_array((size_t)ev->n_plans * windows, scored * sizeof *ev->positions, INGOT_MEM_OTHER);
    const bool all = ev->window && ev->want && ev->sorted && ev->positions;
    return all ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for %zu windows of %zu tokens", windows, n);
}

static ingot_status run(evaluation *ev, ingot_eval_result *out, const int32_t *tokens, const ingot_eval_plan *plans, bool kld) {
    const ingot_eval_config *c = ev->config;
    const eval_tracks_config config = {.n_ctx = c->n_ctx, .n_batch = c->n_batch, .activations = c->activations, .base = kld,
                                       .progress = c->progress, .progress_user = c->progress_user};
    INGOT_TRY(allocate(ev));
    INGOT_TRY(ingot_eval_tracks_open(&ev->set, ev->model, &config, plans, ev->n_plans));
    ev->set.work.total = (double)(ev->n_plans + kld) * ev->n_windows * c->n_ctx;
    for (int w = 0; w < ev->n_windows && ingot_eval_tracks_alive(&ev->set); w++) {
        ev->window_index = w;
        INGOT_TRY(run_window(ev, tokens + ((size_t)c->first_window + (size_t)w) * (size_t)c->n_ctx));
    }
    INGOT_TRY(collect(ev, out));
    if (c->progress) c->progress(c->progress_user, "done", 1.0);
    return INGOT_OK;
}

static ingot_status evaluate(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config,
                             const ingot_eval_plan *plans, int n_plans, bool kld) {
    if (!model || !tokens) return ingot_fail(INGOT_E_INVALID, "an evaluation needs a model and tokens");
    evaluation ev = {.config = config, .model = model, .n_plans = n_plans, .n_scored = config->n_ctx - 1};
    INGOT_TRY(ingot_eval_check_tokens(model, tokens, n));
    INGOT_TRY(count_windows(&ev.n_windows, n, config));
    const ingot_status s = run(&ev, out, tokens, plans, kld);
    void *owned[] = {ev.window, ev.want, ev.sorted, ev.positions};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    ingot_eval_tracks_close(&ev.set);
    return s;
}

static void clear(ingot_eval_result *out, int n) {
    for (int i = 0; i < n; i++) {
        ingot_dealloc(out[i].windows);
        out[i] = (ingot_eval_result){0};
    }
}

/* One plan: what is wrong with it is what is wrong at all. */
static ingot_status evaluate_one(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config, bool kld) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the result");
    *out = (ingot_eval_result){0};
    if (!config) return ingot_fail(INGOT_E_INVALID, "an evaluation needs a configuration");
    const ingot_eval_plan plan = {.plan = config->plan, .calibration = config->calibration, .stream = config->stream};
    ingot_status s = evaluate(out, model, tokens, n, config, &plan, 1, kld);
    if (s == INGOT_OK && out->status != INGOT_OK) s = ingot_fail(out->status, "%s", out->message);
    if (s != INGOT_OK) clear(out, 1);
    return s;
}

ingot_status ingot_eval_ppl(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config) {
    return evaluate_one(out, model, tokens, n, config, false);
}

ingot_status ingot_eval_kld(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config) {
    return evaluate_one(out, model, tokens, n, config, true);
}

ingot_status ingot_eval_kld_many(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config,
                                 const ingot_eval_plan *plans, int n_plans) {
    if (!out || !plans || n_plans < 1) return ingot_fail(INGOT_E_INVALID, "%d plans, or no place for their results", n_plans);
    for (int i = 0; i < n_plans; i++) out[i] = (ingot_eval_result){0};
    if (!config) return ingot_fail(INGOT_E_INVALID, "an evaluation needs a configuration");
    const ingot_status s = evaluate(out, model, tokens, n, config, plans, n_plans, true);
    if (s != INGOT_OK) clear(out, n_plans);
    return s;
}
