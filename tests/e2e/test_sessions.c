/* Sessions on a real model: batches of several, forks, rollback, limits, and no allocation while running. */
#include "base/alloc.h"
#include "reference.h"

enum { STEPS = SLOW_BUILD ? 4 : 24, MAX_PROMPT = 96 };

/* A model, an engine and room for its vocabulary. */
typedef struct bench { loaded l; ingot_engine *engine; ingot_model_info info; reference ref; } bench;

static bool set_up(bench *b, const char *model, const char *kv, int n_ctx, int sessions, int n_batch) {
    if (!reference_read(&b->ref, model) || !load_model(&b->l, model)) return false;
    ingot_model_info_get(b->l.model, &b->info);
    b->engine = open_engine(b->l.model, kv, n_ctx, sessions, n_batch, INGOT_ACT_INT8);
    if (b->engine) return true;
    unload_model(&b->l);
    return false;
}

static void tear_down(bench *b) {
    ingot_engine_destroy(b->engine);
    unload_model(&b->l);
}

/* A prompt in pieces of a fixed size. A packed cache turns the last bit of a sum into another code now and then, and few and many rows
 * are computed on different paths, so that text can be compared only between runs that cut a session's tokens in the same way. */
typedef struct timeline { const int32_t *prompt; int n_prompt, piece, fed, n_text; ingot_session *session; int32_t text[STEPS]; } timeline;

/* Puts the next piece of the prompt into batch, or the newest token of the text. Returns how many. */
static int next_tokens(timeline *t, ingot_batch_token *batch) {
    if (t->fed == t->n_prompt) {
        batch[0] = (ingot_batch_token){t->session, t->text[t->n_text - 1], true};
        return 1;
    }
    int n = 0;
    for (; n < t->piece && t->fed < t->n_prompt; n++, t->fed++) batch[n] = (ingot_batch_token){t->session, t->prompt[t->fed], t->fed == t->n_prompt - 1};
    return n;
}

/* One pass with all timelines that are not finished; false when all are, or after a failure. */
static bool run_pass(bench *b, timeline *t, int n) {
    ingot_batch_token batch[96];
    int size = 0, wanting[8], n_wanting = 0;
    for (int i = 0; i < n; i++) {
        if (t[i].n_text == STEPS) continue;
        size += next_tokens(&t[i], batch + size);
        if (t[i].fed == t[i].n_prompt) wanting[n_wanting++] = i;
    }
    const float *rows;
    if (size == 0 || !CHECK_OK(ingot_engine_forward(b->engine, batch, size, &rows))) return false;
    CHECK((rows != NULL) == (n_wanting > 0));
    for (int w = 0; w < n_wanting; w++) {
        timeline *at = &t[wanting[w]];
        at->text[at->n_text++] = argmax(rows + (size_t)w * (size_t)b->info.n_vocab, b->info.n_vocab);
    }
    return true;
}

/* Greedy text of n timelines that run together. */
static void run_together(bench *b, timeline *t, int n) {
    for (int i = 0; i < n; i++)
        if (!CHECK_OK(ingot_session_create(&t[i].session, b->engine))) return;
    while (run_pass(b, t, n)) continue;
    for (int i = 0; i < n; i++) ingot_session_destroy(t[i].session);
}

/* Three prompts of different lengths in one engine: their pieces meet in mixed batches, the short ones decode while the long one is still being read. */
static void check_interleaved(const char *model, const char *kv) {
    enum { N = 3 };
    static bench b;
    if (!set_up(&b, model, kv, 1024, N, 96)) return;
    timeline together[N] = {{.prompt = b.ref.tokens, .n_prompt = MAX_PROMPT, .piece = 13}, {.prompt = b.ref.tokens + 200, .n_prompt = 17, .piece = 18},
                            {.prompt = b.ref.tokens + 400, .n_prompt = 70, .piece = 23}};
    timeline alone[N];
    memcpy(alone, together, sizeof alone);
    run_together(&b, together, N);
    for (int i = 0; i < N; i++) {
        run_together(&b, &alone[i], 1);
        CHECK_INT(alone[i].n_text, STEPS);
        CHECK_INT(together[i].n_text, STEPS);
        for (int k = 0; k < STEPS; k++) {
            test_case("%s %s session %d step %d", model, kv, i, k);
            CHECK_INT(together[i].text[k], alone[i].text[k]);
        }
    }
    tear_down(&b);
}

TEST("e2e/sessions: interleaved sessions give the same text as alone, f16") { check_interleaved("smollm2", "f16"); }
TEST("e2e/sessions: interleaved sessions give the same text as alone, int4") { check_interleaved("smollm2", "int4,group=32"); }
TEST("e2e/sessions: interleaved sessions give the same text as alone, gemma3") { check_interleaved("gemma3-270m", "q8_0"); }

/* Feeds tokens [from, to) one by one or at once and copies the last row. */
static bool feed(bench *b, ingot_session *s, int from, int to, bool one_by_one, float *row) {
    const float *logits = NULL;
    for (int at = from; at < to;) {
        const int n = one_by_one ? 1 : to - at;
        if (!CHECK_OK(ingot_session_prefill(s, b->ref.tokens + at, n, &logits, NULL, NULL))) return false;
        at += n;
    }
    memcpy(row, logits, (size_t)b->info.n_vocab * sizeof *row);
    return true;
}

static void check_rollback(const char *model, const char *kv) {
    static bench b;
    static float first[262144], again[262144], forked[262144];
    if (!set_up(&b, model, kv, 512, 2, 128)) return;
    const size_t bytes = (size_t)b.info.n_vocab * sizeof(float);
    ingot_session *s = NULL, *f = NULL;
    if (!CHECK_OK(ingot_session_create(&s, b.engine)) || !feed(&b, s, 0, 100, false, first) || !feed(&b, s, 100, 110, true, first)) return;

    test_case("%s %s: trimmed and fed again", model, kv);
    CHECK_OK(ingot_session_trim(s, 100));
    CHECK_INT(ingot_session_tokens(s), 100);
    if (feed(&b, s, 100, 110, true, again)) CHECK_MEM(again, first, bytes);

    test_case("%s %s: forked", model, kv);
    if (CHECK_OK(ingot_session_fork(&f, s, 100))) {
        CHECK_INT(ingot_session_tokens(f), 100);
        if (feed(&b, f, 100, 110, true, forked)) CHECK_MEM(forked, first, bytes);
        /* The original goes another way; the fork must not see it. */
        CHECK_OK(ingot_session_trim(s, 90));
        if (feed(&b, s, 300, 330, true, again) && CHECK_OK(ingot_session_trim(f, 100)) && feed(&b, f, 100, 110, true, forked)) CHECK_MEM(forked, first, bytes);
    }
    test_case("%s %s: trimmed to more than held", model, kv);
    CHECK_STATUS(ingot_session_trim(s, 400), INGOT_E_INVALID);
    ingot_session_destroy(f);
    ingot_session_destroy(s);
    tear_down(&b);
}

TEST("e2e/sessions: fork and rollback give identical logits, f16") { check_rollback("smollm2", "f16"); }
TEST("e2e/sessions: fork and rollback give identical logits, int4") { check_rollback("smollm2", "int4,group=32"); }
TEST("e2e/sessions: fork and rollback give identical logits, gemma3") { check_rollback("gemma3-270m", "int4,group=64"); }

/* A prefill and decode steps behind it must not allocate, nor must sampling. */
static void check_no_allocation(const char *model, const char *kv) {
    static bench b;
    if (!set_up(&b, model, kv, 512, 1, 128)) return;
    ingot_session *s = NULL;
    ingot_sampler *sampler = NULL;
    ingot_sampler_config config = {.seed = 1};
    ingot_sampler_defaults(&config);
    config.repeat_penalty = 1.1f;
    const float *logits;
    if (!CHECK_OK(ingot_session_create(&s, b.engine)) || !CHECK_OK(ingot_sampler_create(&sampler, &config, b.info.n_vocab))) return;
    const long before = ingot_mem_violations();
    ingot_mem_forbid(true);
    CHECK_OK(ingot_session_prefill(s, b.ref.tokens, 188, &logits, NULL, NULL));
    for (int i = 0; i < (SLOW_BUILD ? 10 : 80); i++) { /* past the end of a page */
        const ingot_batch_token t = {s, ingot_sampler_sample(sampler, logits), true};
        ingot_sampler_accept(sampler, t.token);
        if (!CHECK_OK(ingot_engine_forward(b.engine, &t, 1, &logits))) break;
    }
    CHECK_OK(ingot_session_trim(s, 150));
    ingot_mem_forbid(false);
    CHECK_INT(ingot_mem_violations() - before, 0);
    ingot_mem_forbid(true);
    ingot_dealloc(ingot_alloc(1, INGOT_MEM_OTHER)); /* the guard sees what it is there for */
    ingot_mem_forbid(false);
    CHECK_INT(ingot_mem_violations() - before, 1);
    ingot_sampler_destroy(sampler);
    ingot_session_destroy(s);
    tear_down(&b);
}

TEST("e2e/sessions: nothing is allocated while running, f16") { check_no_allocation("smollm2", "f16"); }
TEST("e2e/sessions: nothing is allocated while running, int4") { check_no_allocation("smollm2", "int4,group=32"); }
TEST("e2e/sessions: nothing is allocated while running, gemma3") { check_no_allocation("gemma3-270m", "q8_0"); }

static bool stop_at_once(void *user, int done, int total) {
    *(int *)user = done;
    return total < 0;
}

TEST("e2e/sessions: limits are errors that name both counts") {
    static bench b;
    if (!set_up(&b, "smollm2", "q8_0", 256, 1, 64)) return;
    ingot_session *s = NULL, *second = NULL;
    const float *logits;
    if (!CHECK_OK(ingot_session_create(&s, b.engine))) return;
    CHECK_STATUS(ingot_session_create(&second, b.engine), INGOT_E_FULL);
    CHECK(second == NULL);

    CHECK_STATUS(ingot_session_prefill(s, b.ref.tokens, 300, &logits, NULL, NULL), INGOT_E_FULL);
    CHECK_HAS(ingot_last_error(), "300");
    CHECK_HAS(ingot_last_error(), "256");
    CHECK_INT(ingot_session_tokens(s), 0);
    CHECK_STATUS(ingot_session_prefill(s, b.ref.tokens, 0, &logits, NULL, NULL), INGOT_E_INVALID);

    int done = 0;
    CHECK_STATUS(ingot_session_prefill(s, b.ref.tokens, 200, &logits, stop_at_once, &done), INGOT_E_CANCELLED);
    CHECK_INT(done, 64);
    CHECK_INT(ingot_session_tokens(s), 64);
    CHECK_OK(ingot_session_prefill(s, b.ref.tokens, 192, &logits, NULL, NULL));
    const ingot_batch_token one = {s, 5, true}, bad = {s, b.info.n_vocab, true}, lost = {NULL, 5, true};
    CHECK_STATUS(ingot_engine_forward(b.engine, &one, 1, &logits), INGOT_E_FULL);
    CHECK(logits == NULL);
    CHECK_INT(ingot_session_tokens(s), 256);
    CHECK_OK(ingot_session_trim(s, 10));
    CHECK_STATUS(ingot_engine_forward(b.engine, &bad, 1, &logits), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "49152");
    CHECK_STATUS(ingot_engine_forward(b.engine, &lost, 1, &logits), INGOT_E_INVALID);
    CHECK_STATUS(ingot_engine_forward(b.engine, &one, 0, &logits), INGOT_E_INVALID);
    CHECK_OK(ingot_engine_forward(b.engine, &one, 1, &logits));
    CHECK_INT(ingot_session_tokens(s), 11);
    ingot_session_destroy(s);
    tear_down(&b);
}

TEST("e2e/sessions: logits on demand are those of a pass, in any pieces") {
    static bench b;
    static float rows[8][49152];
    if (!set_up(&b, "smollm2", "f16", 256, 1, 64)) return;
    ingot_session *s = NULL;
    ingot_batch_token batch[16];
    const float *logits;
    if (!CHECK_OK(ingot_session_create(&s, b.engine))) return;
    for (int i = 0; i < 16; i++) batch[i] = (ingot_batch_token){s, b.ref.tokens[i], i % 2 == 1};
    if (!CHECK_OK(ingot_engine_forward(b.engine, batch, 16, &logits))) return;
    memcpy(rows, logits, sizeof rows);
    CHECK_OK(ingot_session_trim(s, 0));
    CHECK_OK(ingot_engine_forward(b.engine, batch, 16, NULL));
    for (int i = 0; i < 8; i += 2) {
        test_case("rows %d and %d", i, i + 1);
        if (CHECK_OK(ingot_engine_logits(b.engine, i, 2, &logits))) CHECK_NMSE(logits, rows[i], 2 * 49152, 1e-10); /* sums may be split otherwise */
    }
    CHECK_STATUS(ingot_engine_logits(b.engine, 7, 2, &logits), INGOT_E_INVALID);
    CHECK_STATUS(ingot_engine_logits(b.engine, -1, 1, &logits), INGOT_E_INVALID);
    CHECK_STATUS(ingot_engine_logits(b.engine, 0, 65, &logits), INGOT_E_INVALID);
    ingot_session_destroy(s);
    tear_down(&b);
}
