/* Whole models: engines of several plans side by side, by turns. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/rng.h"
#include <string.h>

typedef struct track {
    ingot_bench_model *b;
    ingot_engine *engine;
    ingot_session *base; /* filled to b->depth */
    ingot_status status;
    char message[INGOT_BENCH_MESSAGE_BYTES];
} track;

struct ingot_bench_model {
    ingot_model *model;
    ingot_bench_model_config c;
    int n;
    track *tracks;
    int32_t *tokens; /* [n_ctx] */
    int depth;
    int n_prompt, n_gen; /* of the running measurement */
};

/* --- opening --- */
static ingot_status open_track(track *t, const ingot_plan *plan) {
    const ingot_bench_model_config *c = &t->b->c;
    const char *part;
    if (ingot_plan_needs_calibration(plan, &part) && !c->calibration) return ingot_fail(INGOT_E_UNSUPPORTED, "%s needs a calibration of the model, and none was given", part);
    const ingot_engine_config config = {.plan = *plan, .calibration = c->calibration, .n_ctx = c->n_ctx, .max_sessions = 2, .n_batch = c->n_batch, .max_logits = 1,
                                        .activations = c->activations};
    INGOT_TRY(ingot_engine_create(&t->engine, t->b->model, &config));
    return ingot_session_create(&t->base, t->engine);
}

static void close_track(track *t) {
    ingot_session_destroy(t->base);
    ingot_engine_destroy(t->engine);
    t->base = NULL, t->engine = NULL;
}

static ingot_status check_caches(const ingot_bench_model *b) {
    double wanted = 0;
    for (int i = 0; i < b->n; i++) {
        ingot_cache_memory m;
        if (!b->tracks[i].engine) continue;
        ingot_cache_memory_get(ingot_engine_cache(b->tracks[i].engine), &m);
        wanted += (double)m.capacity_bytes;
    }
    return ingot_bench_check_memory(wanted, "caches of all plans");
}

static ingot_status open_all(ingot_bench_model *b, const ingot_plan *plans) {
    ingot_model_info info;
    ingot_rng rng = {5};
    ingot_model_info_get(b->model, &info);
    b->tracks = ingot_alloc_array((size_t)b->n, sizeof *b->tracks, INGOT_MEM_OTHER);
    b->tokens = ingot_alloc_array((size_t)b->c.n_ctx, sizeof *b->tokens, INGOT_MEM_OTHER);
    if (!b->tracks || !b->tokens) return ingot_fail(INGOT_E_NOMEM, "no memory for %d plans and %d tokens", b->n, b->c.n_ctx);
    for (int i = 0; i < b->c.n_ctx; i++) b->tokens[i] = (int32_t)(ingot_rng_next(&rng) % (uint64_t)info.n_vocab);
    for (int i = 0; i < b->n; i++) {
        track *t = &b->tracks[i];
        t->b = b;
        if (ingot_bench_settle(&t->status, t->message, open_track(t, &plans[i])) != INGOT_OK) close_track(t);
    }
    return check_caches(b);
}

ingot_status ingot_bench_model_open(ingot_bench_model **out, ingot_model *model, const ingot_bench_model_config *c, const ingot_plan *plans, int n) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the benchmark");
    *out = NULL;
    if (!model || !c || !plans || n < 1) return ingot_fail(INGOT_E_INVALID, "a benchmark of %d plans, or none of a model", n);
    if (c->n_ctx < 1 || c->n_threads < 1) return ingot_fail(INGOT_E_INVALID, "caches of %d tokens, %d threads", c->n_ctx, c->n_threads);
    INGOT_TRY(ingot_bench_check_protocol(&c->protocol));
    ingot_bench_model *b = ingot_alloc(sizeof *b, INGOT_MEM_OTHER);
    if (!b) return ingot_fail(INGOT_E_NOMEM, "no memory for a benchmark");
    *b = (ingot_bench_model){.model = model, .c = *c, .n = n};
    const ingot_status s = open_all(b, plans);
    if (s != INGOT_OK) {
        ingot_bench_model_close(b);
        return s;
    }
    *out = b;
    return INGOT_OK;
}

void ingot_bench_model_close(ingot_bench_model *b) {
    if (!b) return;
    for (int i = 0; b->tracks && i < b->n; i++) close_track(&b->tracks[i]);
    ingot_dealloc(b->tracks);
    ingot_dealloc(b->tokens);
    ingot_dealloc(b);
}

/* --- what is timed --- */
static uint64_t now(const ingot_bench_model *b) { return ingot_bench_process_ns(b->c.protocol.cpu_time, b->c.n_threads); }

static ingot_status run_prefill(void *self, int round, uint64_t *ns) {
    track *t = self;
    ingot_session *session;
    const float *logits;
    (void)round;
    INGOT_TRY(ingot_session_create(&session, t->engine));
    const uint64_t start = now(t->b);
    const ingot_status s = ingot_session_prefill(session, t->b->tokens, t->b->n_prompt, &logits, NULL, NULL);
    *ns = (now(t->b) - start) / (uint64_t)t->b->n_prompt;
    ingot_session_destroy(session);
    return s;
}

static ingot_status decode(track *t, ingot_session *session, int depth, uint64_t *ns) {
    uint64_t start = 0;
    for (int i = 0; i < t->b->n_gen; i++) {
        const ingot_batch_token token = {session, t->b->tokens[depth + i], true};
        const float *logits;
        if (i == 1) start = now(t->b);
        INGOT_TRY(ingot_engine_forward(t->engine, &token, 1, &logits));
    }
    *ns = (now(t->b) - start) / (uint64_t)(t->b->n_gen - 1);
    return INGOT_OK;
}

/* Always from the same depth: on a copy of the filled sequence, which shares its pages. */
static ingot_status run_depth(track *t, int depth, uint64_t *ns) {
    ingot_session *session;
    if (depth) INGOT_TRY(ingot_session_fork(&session, t->base, depth));
    else INGOT_TRY(ingot_session_create(&session, t->engine));
    const ingot_status s = decode(t, session, depth, ns);
    ingot_session_destroy(session);
    return s;
}

static ingot_status run_decode(void *self, int round, uint64_t *ns) {
    track *t = self;
    (void)round;
    return run_depth(t, t->b->depth, ns);
}

static ingot_status run_shallow(void *self, int round, uint64_t *ns) {
    (void)round;
    return run_depth(self, 0, ns);
}

/* --- the whole --- */
static ingot_status measure(ingot_bench_model *b, ingot_bench_model_row *out, bool decoding, const char *what) {
    bench_item *items = ingot_alloc_array((size_t)b->n, 2 * sizeof *items, INGOT_MEM_OTHER);
    if (!items) return ingot_fail(INGOT_E_NOMEM, "no memory for %d plans", b->n);
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        if (!b->tracks[i].engine) continue;
        items[n++] = (bench_item){decoding ? run_decode : run_prefill, &b->tracks[i], &out[i].token};
        if (decoding && b->depth) items[n++] = (bench_item){run_shallow, &b->tracks[i], &out[i].shallow};
    }
    const ingot_status s = n ? ingot_bench_rounds(&b->c.protocol, items, n, b->n, what) : INGOT_OK;
    ingot_dealloc(items);
    return s;
}

static void clear(ingot_bench_model_row *out, const ingot_bench_model *b) {
    for (int i = 0; i < b->n; i++) {
        out[i] = (ingot_bench_model_row){.status = b->tracks[i].status};
        memcpy(out[i].message, b->tracks[i].message, sizeof out[i].message);
    }
}

ingot_status ingot_bench_model_prefill(ingot_bench_model_row *out, ingot_bench_model *b, int n_tokens) {
    if (!out || !b) return ingot_fail(INGOT_E_INVALID, "no benchmark, or no place for its results");
    clear(out, b);
    if (n_tokens < 1 || n_tokens > b->c.n_ctx - b->depth) return ingot_fail(INGOT_E_INVALID, "a prompt of %d tokens; 1 to %d are possible", n_tokens, b->c.n_ctx - b->depth);
    b->n_prompt = n_tokens;
    return measure(b, out, false, "prefill");
}

typedef struct filling {
    const ingot_bench_model *b;
    int plan;
} filling;

static bool show_filling(void *user, int done, int total) {
    const filling *f = user;
    const ingot_bench_protocol *p = &f->b->c.protocol;
    (void)total;
    return !p->progress || p->progress(p->progress_user, "filling the caches", (f->plan + (double)done / total) / f->b->n);
}

static ingot_status fill(ingot_bench_model *b, int depth) {
    for (int i = 0; i < b->n; i++) {
        filling f = {.b = b, .plan = i};
        if (b->tracks[i].engine && depth > b->depth) INGOT_TRY(ingot_session_prefill(b->tracks[i].base, b->tokens + b->depth, depth - b->depth, NULL, show_filling, &f));
    }
    b->depth = depth;
    return INGOT_OK;
}

ingot_status ingot_bench_model_decode(ingot_bench_model_row *out, ingot_bench_model *b, int depth, int n_gen) {
    if (!out || !b) return ingot_fail(INGOT_E_INVALID, "no benchmark, or no place for its results");
    clear(out, b);
    if (n_gen < 2 || depth < b->depth || depth > b->c.n_ctx - n_gen)
        return ingot_fail(INGOT_E_INVALID, "%d tokens behind %d in caches of %d tokens that hold %d", n_gen, depth, b->c.n_ctx, b->depth);
    INGOT_TRY(fill(b, depth));
    for (int i = 0; i < b->n; i++)
        if (b->tracks[i].engine) ingot_cache_memory_get(ingot_engine_cache(b->tracks[i].engine), &out[i].memory);
    b->n_gen = n_gen;
    return measure(b, out, true, "decoding");
}

void ingot_bench_model_rows_free(ingot_bench_model_row *rows, int n) {
    for (int i = 0; i < n; i++) {
        ingot_dealloc(rows[i].token.us);
        ingot_dealloc(rows[i].shallow.us);
        rows[i].token.us = rows[i].shallow.us = NULL;
    }
}
