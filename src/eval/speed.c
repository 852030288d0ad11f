/* Time of a decoded token: the f16 cache and the plans by turns. */
#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/error.h"
#include "stats.h"
#include "tracks.h"
#include <limits.h>
#include <stdio.h>

typedef struct speed {
    const ingot_speed_config *config;
    const int32_t *tokens;
    size_t n_tokens;
    eval_tracks set;
    int n_times;   /* of each track */
    double *times; /* [n_plans + 1][n_times], seconds; the base is the last */
} speed;

static eval_track *track_of(speed *s, int i) { return i < s->set.n ? &s->set.tracks[i] : &s->set.base; }
static double *times_of(const speed *s, int i) { return s->times + (size_t)i * (size_t)s->n_times; }
static int32_t token_at(const speed *s, int position) { return s->tokens[(size_t)position % s->n_tokens]; }

/* What a plan does wrong is its own affair, what the base does wrong everybody's. */
static ingot_status settle(speed *s, int i, ingot_status status) { return i < s->set.n ? ingot_eval_track_settle(track_of(s, i), status) : status; }

static ingot_status fill(speed *s, eval_track *t) {
    const int most = ingot_engine_n_batch(t->engine);
    for (int at = 0; at < s->config->depth; at += most) {
        const int n = s->config->depth - at < most ? s->config->depth - at : most;
        for (int i = 0; i < n; i++) t->batch[i] = (ingot_batch_token){t->session, token_at(s, at + i), false};
        INGOT_TRY(ingot_engine_forward(t->engine, t->batch, n, NULL));
        INGOT_TRY(ingot_eval_work_add(&s->set.work, n));
    }
    return INGOT_OK;
}

static ingot_status decode(speed *s, eval_track *t, int round, double *times) {
    const int block = s->config->n_block, first = s->config->depth + round * block;
    for (int i = 0; i < block; i++) {
        const float *logits;
        const uint64_t start = ingot_clock_ns();
        t->batch[0] = (ingot_batch_token){t->session, token_at(s, first + i), true};
        INGOT_TRY(ingot_engine_forward(t->engine, t->batch, 1, &logits));
        if (i) times[round * (block - 1) + i - 1] = 1e-9 * (double)(ingot_clock_ns() - start);
    }
    return ingot_eval_work_add(&s->set.work, block);
}

static ingot_status run(speed *s) {
    const int n = s->set.n + 1;
    s->set.work.what = "filling the caches";
    for (int i = 0; i < n; i++)
        if (track_of(s, i)->engine) INGOT_TRY(settle(s, i, fill(s, track_of(s, i))));
    s->set.work.what = "decoding";
    for (int round = 0; round < s->config->n_rounds && ingot_eval_tracks_alive(&s->set); round++)
        for (int i = n - 1; i >= 0; i--)
            if (track_of(s, i)->engine) INGOT_TRY(settle(s, i, decode(s, track_of(s, i), round, times_of(s, i))));
    return INGOT_OK;
}

static double rate(const speed *s, int i) {
    double *t = times_of(s, i);
    ingot_sort(t, (size_t)s->n_times);
    const double median = ingot_sorted_quantile(t, (size_t)s->n_times, 0.5);
    return median > 0 ? 1.0 / median : 0.0;
}

static void collect(speed *s, ingot_speed_result *out) {
    const double base = rate(s, s->set.n);
    for (int i = 0; i < s->set.n; i++) {
        const eval_track *t = &s->set.tracks[i];
        out[i].status = t->status;
        snprintf(out[i].message, sizeof out[i].message, "%s", t->message);
        if (!t->engine) continue;
        out[i].tokens_per_second = rate(s, i);
        out[i].base_tokens_per_second = base;
        ingot_cache_memory_get(ingot_engine_cache(t->engine), &out[i].memory);
    }
}

static ingot_status check(const ingot_speed_config *c, size_t n) {
    if (c->depth < 1) return ingot_fail(INGOT_E_INVALID, "decoding behind %d tokens, must be at least 1", c->depth);
    if (c->n_rounds < 1 || c->n_block < 2) return ingot_fail(INGOT_E_INVALID, "%d rounds of %d tokens, must be at least 1 of 2", c->n_rounds, c->n_block);
    if ((double)c->depth + (double)c->n_rounds * c->n_block > INT_MAX) return ingot_fail(INGOT_E_INVALID, "%d rounds of %d tokens behind %d are too many", c->n_rounds, c->n_block, c->depth);
    if (!n) return ingot_fail(INGOT_E_INVALID, "there are no tokens to feed");
    return INGOT_OK;
}

ingot_status ingot_eval_speed(ingot_speed_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_speed_config *c,
                              const ingot_eval_plan *plans, int n_plans) {
    if (!out || !plans || n_plans < 1) return ingot_fail(INGOT_E_INVALID, "%d plans, or no place for their results", n_plans);
    for (int i = 0; i < n_plans; i++) out[i] = (ingot_speed_result){0};
    if (!model || !tokens || !c) return ingot_fail(INGOT_E_INVALID, "measuring speed needs a model, tokens and a configuration");
    INGOT_TRY(check(c, n));
    INGOT_TRY(ingot_eval_check_tokens(model, tokens, n));
    speed s = {.config = c, .tokens = tokens, .n_tokens = n, .n_times = c->n_rounds * (c->n_block - 1)};
    const eval_tracks_config config = {.n_ctx = c->depth + c->n_rounds * c->n_block, .n_batch = c->n_batch, .activations = c->activations, .base = true,
                                       .batches = true, .progress = c->progress, .progress_user = c->progress_user};
    s.times = ingot_alloc_array((size_t)n_plans + 1, (size_t)s.n_times * sizeof *s.times, INGOT_MEM_OTHER);
    ingot_status status = s.times ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for %d times", s.n_times);
    if (status == INGOT_OK) status = ingot_eval_tracks_open(&s.set, model, &config, plans, n_plans);
    if (status == INGOT_OK) {
        s.set.work.total = (double)(n_plans + 1) * config.n_ctx;
        status = run(&s);
        if (status == INGOT_OK) collect(&s, out);
    }
    if (status == INGOT_OK && c->progress) c->progress(c->progress_user, "done", 1.0);
    ingot_eval_tracks_close(&s.set);
    ingot_dealloc(s.times);
    return status;
}
