#include "answer.h"
#include "common/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *answer_end_name(answer_end end) {
    static const char *const names[] = {"end", "length", "stop", "context", "interrupted", "write failed"};
    return names[end];
}

/* Logits without the tokens that would end the answer, for --ignore-eos. */
typedef struct mask {
    float *logits;
    int32_t *ends;
    int n_ends, n_vocab;
} mask;

static void mask_init(mask *m, const setup *u, const settings *s) {
    *m = (mask){0};
    if (!s->ignore_eos) return;
    m->n_vocab = u->info.n_vocab;
    m->logits = cli_realloc(NULL, (size_t)m->n_vocab, sizeof *m->logits);
    for (int32_t id = 0; id < m->n_vocab; id++) {
        if (!ingot_model_is_end(u->model, id)) continue;
        m->ends = cli_realloc(m->ends, (size_t)m->n_ends + 1, sizeof *m->ends);
        m->ends[m->n_ends++] = id;
    }
}

static const float *mask_apply(mask *m, const float *logits) {
    if (!m->logits) return logits;
    memcpy(m->logits, logits, (size_t)m->n_vocab * sizeof *logits);
    for (int i = 0; i < m->n_ends; i++) m->logits[m->ends[i]] = -INFINITY;
    return m->logits;
}

static void mask_free(mask *m) {
    free(m->logits);
    free(m->ends);
}

static void push_token(answer *a, int32_t token) {
    if (a->n_tokens == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 256;
        a->tokens = cli_realloc(a->tokens, (size_t)a->cap, sizeof *a->tokens);
    }
    a->tokens[a->n_tokens++] = token;
}

static bool show_text(answer *a, bool show) {
    size_t n;
    const char *text = text_stream_take(&a->stream, &n);
    return !show || !n || cli_write(text, n);
}

/* Takes one token into the answer; whether the answer goes on. */
static bool take_token(answer *a, const setup *u, const settings *s, int32_t token, bool show) {
    if (ingot_model_is_end(u->model, token) && !s->ignore_eos) {
        a->end = ANSWER_END;
        a->end_token = token;
        return false;
    }
    push_token(a, token);
    size_t n;
    const char *bytes = ingot_model_token_bytes(u->model, token, s->special, &n);
    const bool stopped = text_stream_add(&a->stream, bytes, n);
    if (!show_text(a, show)) {
        a->end = ANSWER_WRITE_FAILED;
        return false;
    }
    if (stopped) a->end = ANSWER_STOP;
    return !stopped;
}

/* Whether another token may follow the one just taken. */
static bool may_go_on(answer *a, const setup *u, const settings *s, int n_ctx) {
    if (system_interrupted()) a->end = ANSWER_INTERRUPTED;
    else if (s->n_predict >= 0 && a->n_tokens >= s->n_predict) a->end = ANSWER_LENGTH;
    else if (ingot_session_tokens(u->session) >= n_ctx) a->end = ANSWER_CONTEXT;
    else return true;
    return false;
}

static ingot_status feed(answer *a, const setup *u, int32_t token, const float **logits) {
    const ingot_batch_token one = {u->session, token, true};
    a->n_passes++;
    return ingot_engine_forward(u->engine, &one, 1, logits);
}

ingot_status answer_generate(answer *a, const setup *u, const settings *s, ingot_sampler *sampler, const float *logits, int n_ctx, bool show) {
    mask m;
    mask_init(&m, u, s);
    *a = (answer){.stream = {.stops = s->stop.items, .n_stops = s->stop.n}, .end_token = -1, .end = ANSWER_LENGTH};
    ingot_status status = INGOT_OK;
    double start = system_seconds();
    for (bool more = s->n_predict != 0; more;) {
        const int32_t token = ingot_sampler_sample(sampler, mask_apply(&m, logits));
        ingot_sampler_accept(sampler, token);
        more = take_token(a, u, s, token, show) && may_go_on(a, u, s, n_ctx);
        if (!a->n_passes) start = system_seconds(); /* the first token belongs to the prompt's pass */
        if (more) status = feed(a, u, token, &logits);
        if (status != INGOT_OK) break;
    }
    a->seconds = a->n_passes ? system_seconds() - start : 0;
    text_stream_finish(&a->stream);
    if (a->end != ANSWER_WRITE_FAILED && !show_text(a, show)) a->end = ANSWER_WRITE_FAILED;
    mask_free(&m);
    return status;
}

void answer_free(answer *a) {
    text_stream_free(&a->stream);
    free(a->tokens);
    *a = (answer){0};
}

static bool prefill_progress(void *user, int done, int total) {
    progress_show(user, "reading the prompt", (double)done / total);
    return !system_interrupted();
}

ingot_status answer_prefill(setup *u, ingot_sampler *sampler, const int32_t *tokens, int n, const float **logits) {
    const ingot_status status = ingot_session_prefill(u->session, tokens, n, logits, prefill_progress, &u->progress);
    progress_wipe(&u->progress);
    for (int i = 0; status == INGOT_OK && i < n; i++) ingot_sampler_accept(sampler, tokens[i]);
    return status;
}
