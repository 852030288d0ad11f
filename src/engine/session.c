/* Sessions: timelines of tokens on an engine. */
#include "engine.h"
#include "../base/alloc.h"
#include "../base/error.h"

static ingot_status new_session(ingot_session **out, ingot_engine *engine) {
    *out = ingot_alloc(sizeof **out, INGOT_MEM_OTHER);
    if (!*out) return ingot_fail(INGOT_E_NOMEM, "out of memory for a session");
    (*out)->engine = engine;
    return INGOT_OK;
}

/* Drops a session that got no sequence. */
static ingot_status settle(ingot_session **session, ingot_status s) {
    if (s == INGOT_OK) return s;
    ingot_dealloc(*session);
    *session = NULL;
    return s;
}

ingot_status ingot_session_create(ingot_session **out, ingot_engine *engine) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the session");
    *out = NULL;
    if (!engine) return ingot_fail(INGOT_E_INVALID, "a session needs an engine");
    INGOT_TRY(new_session(out, engine));
    return settle(out, ingot_cache_seq_open(engine->cache, &(*out)->seq));
}

ingot_status ingot_session_fork(ingot_session **out, ingot_session *from, int n_tokens) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the session");
    *out = NULL;
    if (!from) return ingot_fail(INGOT_E_INVALID, "a fork needs a session");
    INGOT_TRY(new_session(out, from->engine));
    return settle(out, ingot_cache_seq_fork(from->engine->cache, &(*out)->seq, from->seq, n_tokens));
}

void ingot_session_destroy(ingot_session *session) {
    if (!session) return;
    ingot_cache_seq_close(session->engine->cache, session->seq);
    ingot_dealloc(session);
}

int ingot_session_tokens(const ingot_session *session) { return ingot_cache_seq_tokens(session->engine->cache, session->seq); }

ingot_status ingot_session_trim(ingot_session *session, int n_tokens) { return ingot_cache_trim(session->engine->cache, session->seq, n_tokens); }

ingot_status ingot_session_prefill(ingot_session *session, const int32_t *tokens, int n, const float **logits, ingot_prefill_progress progress, void *user) {
    if (logits) *logits = NULL;
    ingot_engine *e = session->engine;
    const int held = ingot_session_tokens(session);
    if (!tokens || n < 1) return ingot_fail(INGOT_E_INVALID, "there are no tokens to feed");
    if (n > e->config.n_ctx - held) {
        if (held) return ingot_fail(INGOT_E_FULL, "%d tokens behind the %d already held do not fit the context of %d tokens", n, held, e->config.n_ctx);
        return ingot_fail(INGOT_E_FULL, "%d tokens do not fit the context of %d tokens", n, e->config.n_ctx);
    }
    for (int done = 0; done < n;) {
        const int size = n - done < e->config.n_batch ? n - done : e->config.n_batch;
        for (int i = 0; i < size; i++) e->feed[i] = (ingot_batch_token){session, tokens[done + i], logits && done + i == n - 1};
        INGOT_TRY(ingot_engine_forward(e, e->feed, size, logits));
        done += size;
        if (progress && !progress(user, done, n)) return ingot_fail(INGOT_E_CANCELLED, "stopped after %d of %d tokens", done, n);
    }
    return INGOT_OK;
}
