#include "tracks.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <stdio.h>

enum { ROWS = 32 }; /* logits held at once by each engine: vocabularies of 262144 tokens make them large */

ingot_status ingot_eval_check_tokens(const ingot_model *model, const int32_t *tokens, size_t n) {
    ingot_model_info info;
    ingot_model_info_get(model, &info);
    for (size_t i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= info.n_vocab) return ingot_fail(INGOT_E_INVALID, "token %zu has id %d, the vocabulary has %d", i, tokens[i], info.n_vocab);
    return INGOT_OK;
}

/* --- opening --- */
static void close_track(eval_track *t) {
    ingot_dealloc(t->batch);
    ingot_session_destroy(t->session);
    ingot_engine_destroy(t->engine);
    t->batch = NULL, t->session = NULL, t->engine = NULL;
}

static ingot_status open_track(eval_track *t, ingot_model *model, const eval_tracks_config *c, const ingot_eval_plan *plan) {
    const ingot_engine_config config = {.plan = plan->plan, .calibration = plan->calibration, .n_ctx = c->n_ctx, .max_sessions = 1,
                                        .n_batch = plan->stream && !c->batches ? 1 : c->n_batch, .max_logits = ROWS, .activations = c->activations};
    INGOT_TRY(ingot_engine_create(&t->engine, model, &config));
    INGOT_TRY(ingot_session_create(&t->session, t->engine));
    t->batch = ingot_alloc_array((size_t)ingot_engine_n_batch(t->engine), sizeof *t->batch, INGOT_MEM_SCRATCH);
    return t->batch ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for a batch");
}

ingot_status ingot_eval_track_settle(eval_track *t, ingot_status s) {
    if (s == INGOT_OK || s == INGOT_E_CANCELLED) return s;
    t->status = s;
    snprintf(t->message, sizeof t->message, "%s", *ingot_last_error() ? ingot_last_error() : ingot_status_string(s));
    close_track(t);
    return INGOT_OK;
}

static ingot_status open_base(eval_tracks *s, ingot_model *model, const eval_tracks_config *c) {
    ingot_eval_plan f16 = {0};
    const ingot_plan_spec spec = {.kv = "f16", .window = -1, .sinks = -1};
    INGOT_TRY(ingot_plan_parse(&f16.plan, &spec));
    return open_track(&s->base, model, c, &f16);
}

ingot_status ingot_eval_tracks_open(eval_tracks *out, ingot_model *model, const eval_tracks_config *c, const ingot_eval_plan *plans, int n) {
    *out = (eval_tracks){.n = n, .work = {.fn = c->progress, .user = c->progress_user, .what = "", .total = 1.0}};
    ingot_model_info info;
    ingot_model_info_get(model, &info);
    out->n_vocab = info.n_vocab;
    out->tracks = ingot_alloc_array((size_t)n, sizeof *out->tracks, INGOT_MEM_OTHER);
    ingot_status s = out->tracks ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for %d plans", n);
    if (s == INGOT_OK && c->base) s = open_base(out, model, c);
    if (s == INGOT_OK && out->base.engine) out->n_batch = ingot_engine_n_batch(out->base.engine);
    for (int i = 0; s == INGOT_OK && i < n; i++) {
        eval_track *t = &out->tracks[i];
        s = ingot_eval_track_settle(t, open_track(t, model, c, &plans[i]));
        if (t->engine && ingot_engine_n_batch(t->engine) > out->n_batch) out->n_batch = ingot_engine_n_batch(t->engine);
    }
    if (s != INGOT_OK) ingot_eval_tracks_close(out);
    return s;
}

void ingot_eval_tracks_close(eval_tracks *s) {
    for (int i = 0; s->tracks && i < s->n; i++) close_track(&s->tracks[i]);
    close_track(&s->base);
    ingot_dealloc(s->tracks);
    s->tracks = NULL, s->n = 0;
}

bool ingot_eval_tracks_alive(const eval_tracks *s) {
    for (int i = 0; i < s->n; i++)
        if (s->tracks[i].engine) return true;
    return false;
}

/* --- running --- */
ingot_status ingot_eval_work_add(eval_work *w, double tokens) {
    w->done += tokens;
    if (!w->fn) return INGOT_OK;
    return w->fn(w->user, w->what, w->done < w->total ? w->done / w->total : 1.0) ? INGOT_OK : ingot_fail(INGOT_E_CANCELLED, "the evaluation was cancelled");
}

typedef struct run {
    eval_tracks *s;
    const eval_sequence *q;
    eval_score score;
    void *user;
} run;

/* Feeds the next batch of a track. */
static ingot_status pass(const run *r, eval_track *t) {
    const int most = ingot_engine_n_batch(t->engine), left = r->q->n - t->n_fed, n = left < most ? left : most;
    t->row_first = t->row_end;
    for (int i = 0; i < n; i++) {
        const bool want = r->q->want[t->n_fed + i];
        t->batch[i] = (ingot_batch_token){t->session, r->q->tokens[t->n_fed + i], want};
        t->row_end += want;
    }
    INGOT_TRY(ingot_engine_forward(t->engine, t->batch, n, NULL));
    t->n_fed += n;
    return ingot_eval_work_add(&r->s->work, n);
}

/* Rows [first, first + n) of one track; those of a pass that is over cannot be had again. */
typedef struct job {
    const run *r;
    int track, row;
    const float *base, *logits; /* [rows][n_vocab] */
} job;

static void score_row(void *user, int i) {
    const job *j = user;
    const size_t at = (size_t)i * (size_t)j->r->s->n_vocab;
    j->r->score(j->r->user, j->track, j->row + i, j->base ? j->base + at : NULL, j->logits + at);
}

static ingot_status score_rows(const run *r, int track, int first, int n, const float *base) {
    eval_track *t = &r->s->tracks[track];
    for (int row = first; row < first + n;) {
        while (t->row_end <= row) INGOT_TRY(pass(r, t));
        const int held = t->row_end - row, most = ingot_engine_max_logits(t->engine);
        int len = first + n - row < held ? first + n - row : held;
        if (len > most) len = most;
        job j = {.r = r, .track = track, .row = row, .base = base ? base + (size_t)(row - first) * (size_t)r->s->n_vocab : NULL};
        INGOT_TRY(ingot_engine_logits(t->engine, row - t->row_first, len, &j.logits));
        ingot_engine_parallel(t->engine, len, score_row, &j);
        row += len;
    }
    return INGOT_OK;
}

/* All tracks score rows [first, end), as many at a time as the base holds logits. */
static ingot_status score_all(const run *r, int first, int end) {
    eval_tracks *s = r->s;
    const float *base = NULL;
    const int most = s->base.engine ? ingot_engine_max_logits(s->base.engine) : end - first;
    for (int row = first; row < end; row += most) {
        const int n = end - row < most ? end - row : most;
        if (s->base.engine) INGOT_TRY(ingot_engine_logits(s->base.engine, row - s->base.row_first, n, &base));
        for (int i = 0; i < s->n; i++)
            if (s->tracks[i].engine) INGOT_TRY(ingot_eval_track_settle(&s->tracks[i], score_rows(r, i, row, n, base)));
    }
    return INGOT_OK;
}

/* Tokens behind the last wanted row go in too: memory is that of the whole sequence. */
static ingot_status catch_up(const run *r, eval_track *t, int end) {
    while (t->n_fed < end) INGOT_TRY(pass(r, t));
    return INGOT_OK;
}

static ingot_status restart(eval_track *t) {
    t->n_fed = t->row_first = t->row_end = 0;
    return t->engine ? ingot_session_trim(t->session, 0) : INGOT_OK;
}

ingot_status ingot_eval_tracks_run(eval_tracks *s, const eval_sequence *q, eval_score score, void *user) {
    const run r = {s, q, score, user};
    INGOT_TRY(restart(&s->base));
    for (int i = 0; i < s->n; i++) INGOT_TRY(ingot_eval_track_settle(&s->tracks[i], restart(&s->tracks[i])));
    int row = 0;
    for (int at = 0; at < q->n && ingot_eval_tracks_alive(s); at += s->n_batch) {
        const int end = q->n - at < s->n_batch ? q->n : at + s->n_batch;
        int row_end = row;
        for (int i = at; i < end; i++) row_end += q->want[i];
        if (s->base.engine) INGOT_TRY(pass(&r, &s->base));
        INGOT_TRY(score_all(&r, row, row_end));
        for (int i = 0; i < s->n; i++)
            if (s->tracks[i].engine) INGOT_TRY(ingot_eval_track_settle(&s->tracks[i], catch_up(&r, &s->tracks[i], end)));
        row = row_end;
    }
    return INGOT_OK;
}
