/* Engines: everything a forward pass needs is allocated here, then passes run without allocating. */
#include "engine.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/row_ops.h"
#include "../cache/cache_team.h"
#include "executor.h"
#include "schedule.h"

enum { DEFAULT_BATCH = 512, DEFAULT_LOGITS = 64, MAX_BATCH = 16384, MAX_SESSIONS = 65536, ROW_ALIGN = 16 };

static ingot_status check_config(ingot_engine_config *c) {
    if (c->n_ctx < 1) return ingot_fail(INGOT_E_INVALID, "a context of %d tokens, must be at least 1", c->n_ctx);
    if (c->max_sessions < 1 || c->max_sessions > MAX_SESSIONS) return ingot_fail(INGOT_E_INVALID, "%d sessions, must be 1 to %d", c->max_sessions, MAX_SESSIONS);
    if (c->n_batch < 0 || c->n_batch > MAX_BATCH) return ingot_fail(INGOT_E_INVALID, "a batch of %d tokens, must be 1 to %d", c->n_batch, MAX_BATCH);
    if (c->max_logits < 0) return ingot_fail(INGOT_E_INVALID, "%d rows of logits", c->max_logits);
    if (c->activations != INGOT_ACT_INT8 && c->activations != INGOT_ACT_FLOAT) return ingot_fail(INGOT_E_INVALID, "unknown kind of activations %d", (int)c->activations);
    if (c->n_batch == 0) c->n_batch = DEFAULT_BATCH;
    if (c->n_batch > c->n_ctx) c->n_batch = c->n_ctx;
    if (c->max_logits == 0) c->max_logits = DEFAULT_LOGITS;
    if (c->max_logits > c->n_batch) c->max_logits = c->n_batch;
    return INGOT_OK;
}

static size_t linear_scratch_bytes(const ingot_engine *e) {
    size_t most = 0;
    for (int i = 0; i < e->model->n_ops; i++) {
        const ingot_op *op = &e->model->tape[i];
        if (op->kind != INGOT_OP_LINEAR) continue;
        const size_t bytes = e->device->backend->linear_scratch_bytes(op->n_in, e->config.n_batch);
        if (bytes > most) most = bytes;
    }
    return most;
}

static bool allocate_tables(ingot_engine *e) {
    const size_t n = (size_t)e->config.n_batch, n_ropes = (size_t)e->model->n_ropes;
    e->rope_cos = ingot_alloc_array(n_ropes, sizeof *e->rope_cos, INGOT_MEM_SCRATCH);
    e->rope_sin = ingot_alloc_array(n_ropes, sizeof *e->rope_sin, INGOT_MEM_SCRATCH);
    if (!e->rope_cos || !e->rope_sin) return false;
    for (size_t i = 0; i < n_ropes; i++) {
        const size_t half = (size_t)e->model->ropes[i].n_rot / 2;
        e->rope_cos[i] = ingot_alloc_array(n, half * sizeof(float), INGOT_MEM_SCRATCH);
        e->rope_sin[i] = ingot_alloc_array(n, half * sizeof(float), INGOT_MEM_SCRATCH);
        if (!e->rope_cos[i] || !e->rope_sin[i]) return false;
    }
    return true;
}

static bool allocate(ingot_engine *e) {
    const size_t n = (size_t)e->config.n_batch;
    for (int b = 0; b < INGOT_N_BUFS; b++) {
        e->stride[b] = (ptrdiff_t)(e->model->width[b] + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
        if (b == INGOT_BUF_LOGITS) e->stride[b] = e->model->width[b]; /* callers see these rows as one array */
        const size_t rows = b == INGOT_BUF_LOGITS ? (size_t)e->config.max_logits : n;
        if (e->stride[b] == 0) continue;
        e->buf[b] = ingot_alloc_mapped(rows * (size_t)e->stride[b] * sizeof(float), INGOT_MEM_SCRATCH);
        if (!e->buf[b]) return false;
    }
    e->linear_scratch = ingot_alloc_mapped(linear_scratch_bytes(e), INGOT_MEM_SCRATCH);
    e->barrier_before = ingot_alloc_array((size_t)e->model->n_ops, sizeof *e->barrier_before, INGOT_MEM_SCRATCH);
    e->tokens = ingot_alloc_array(n, sizeof *e->tokens, INGOT_MEM_SCRATCH);
    e->seqs = ingot_alloc_array(n, sizeof *e->seqs, INGOT_MEM_SCRATCH);
    e->positions = ingot_alloc_array(n, sizeof *e->positions, INGOT_MEM_SCRATCH);
    e->wanted = ingot_alloc_array(n, sizeof *e->wanted, INGOT_MEM_SCRATCH);
    e->feed = ingot_alloc_array(n, sizeof *e->feed, INGOT_MEM_SCRATCH);
    return e->linear_scratch && e->barrier_before && e->tokens && e->seqs && e->positions && e->wanted && e->feed && allocate_tables(e);
}

ingot_status ingot_engine_create(ingot_engine **out, ingot_model *model, const ingot_engine_config *config) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the engine");
    *out = NULL;
    if (!model || !config) return ingot_fail(INGOT_E_INVALID, "an engine needs a model and a configuration");
    if (!model->device) return ingot_fail(INGOT_E_INVALID, "the model was opened without its weights");
    ingot_engine_config c = *config;
    INGOT_TRY(check_config(&c));
    if (c.calibration) INGOT_TRY(ingot_model_check_calibration(model, c.calibration));
    ingot_engine *e = ingot_alloc(sizeof *e, INGOT_MEM_OTHER);
    if (!e) return ingot_fail(INGOT_E_NOMEM, "out of memory for an engine");
    e->model = model;
    e->device = model->device;
    e->config = c;
    const ingot_cache_config cache = {.layers = model->layers, .n_layers = model->info.n_layers, .plan = c.plan,
                                      .max_tokens = c.n_ctx, .max_seqs = c.max_sessions, .max_batch = c.n_batch,
                                      .calibration = c.calibration};
    ingot_status s = ingot_cache_create(&e->cache, e->device, &cache);
    if (s == INGOT_OK && !allocate(e)) s = ingot_fail(INGOT_E_NOMEM, "out of memory for the scratch of %d tokens", c.n_batch);
    if (s != INGOT_OK) {
        ingot_engine_destroy(e);
        return s;
    }
    ingot_schedule_barriers(model, e->barrier_before);
    *out = e;
    return INGOT_OK;
}

void ingot_engine_destroy(ingot_engine *e) {
    if (!e) return;
    if (e->cache) ingot_cache_destroy(e->cache);
    for (int b = 0; b < INGOT_N_BUFS; b++) ingot_dealloc_mapped(e->buf[b]);
    for (int i = 0; i < e->model->n_ropes; i++) {
        if (e->rope_cos) ingot_dealloc(e->rope_cos[i]);
        if (e->rope_sin) ingot_dealloc(e->rope_sin[i]);
    }
    ingot_dealloc_mapped(e->linear_scratch);
    void *owned[] = {e->rope_cos, e->rope_sin, e->barrier_before, e->tokens, e->seqs, e->positions, e->wanted, e->feed};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    ingot_dealloc(e);
}

const ingot_cache *ingot_engine_cache(const ingot_engine *engine) { return engine->cache; }
int ingot_engine_n_batch(const ingot_engine *engine) { return engine->config.n_batch; }
int ingot_engine_max_logits(const ingot_engine *engine) { return engine->config.max_logits; }

void ingot_engine_capture(ingot_engine *engine, ingot_capture_fn fn, void *user) {
    engine->capture = fn;
    engine->capture_user = user;
}

/* Checks the batch and lays it out for the cache and the tape. */
static ingot_status take_batch(ingot_engine *e, const ingot_batch_token *batch, int n) {
    if (!batch || n < 1 || n > e->config.n_batch) return ingot_fail(INGOT_E_INVALID, "a batch of %d tokens, must be 1 to %d", n, e->config.n_batch);
    e->n_tokens = e->n_wanted = 0;
    for (int i = 0; i < n; i++) {
        const ingot_batch_token *t = &batch[i];
        if (!t->session || t->session->engine != e) return ingot_fail(INGOT_E_INVALID, "token %d of the batch belongs to no session of this engine", i);
        if (t->token < 0 || t->token >= e->model->info.n_vocab) return ingot_fail(INGOT_E_INVALID, "token %d of the batch has id %d, the vocabulary has %d", i, t->token, e->model->info.n_vocab);
        e->tokens[i] = t->token;
        e->seqs[i] = t->session->seq;
        if (t->want_logits) e->wanted[e->n_wanted++] = i;
    }
    e->n_tokens = n;
    return INGOT_OK;
}

ingot_status ingot_engine_forward(ingot_engine *e, const ingot_batch_token *batch, int n, const float **logits) {
    if (logits) *logits = NULL;
    INGOT_TRY(take_batch(e, batch, n));
    const int n_wanted = e->n_wanted;
    e->n_wanted = 0; /* until the pass has succeeded */
    if (logits && n_wanted > e->config.max_logits) return ingot_fail(INGOT_E_INVALID, "logits of %d tokens are wanted, at most %d are held at once", n_wanted, e->config.max_logits);
    INGOT_TRY(ingot_cache_step_begin(e->cache, e->seqs, n, e->positions));
    ingot_executor_layers(e);
    const ingot_status s = ingot_cache_step_status(e->cache);
    if (s != INGOT_OK) {
        ingot_cache_step_cancel(e->cache);
        return s;
    }
    ingot_cache_step_end(e->cache);
    e->n_wanted = n_wanted;
    return logits && n_wanted ? ingot_engine_logits(e, 0, n_wanted, logits) : INGOT_OK;
}

ingot_status ingot_engine_logits(ingot_engine *e, int first, int n, const float **logits) {
    *logits = NULL;
    if (n < 1 || n > e->config.max_logits) return ingot_fail(INGOT_E_INVALID, "%d rows of logits, must be 1 to %d", n, e->config.max_logits);
    if (first < 0 || first > e->n_wanted - n) return ingot_fail(INGOT_E_INVALID, "logits of wanted tokens %d to %d, the last pass has %d", first, first + n - 1, e->n_wanted);
    ingot_executor_head(e, first, n);
    for (int i = 0; i < n; i++)
        if (!ingot_row_ops_get()->finite(e->buf[INGOT_BUF_LOGITS] + e->stride[INGOT_BUF_LOGITS] * i, e->model->info.n_vocab))
            return ingot_fail(INGOT_E_INVALID, "the logits of position %d are not finite: the model's weights are damaged, or its activations overflow", e->positions[e->wanted[first + i]]);
    *logits = e->buf[INGOT_BUF_LOGITS];
    return INGOT_OK;
}

typedef struct parallel_job {
    int n;
    void (*fn)(void *user, int i);
    void *user;
} parallel_job;

static void parallel_team(const ingot_team *team, void *arg) {
    const parallel_job *job = arg;
    ingot_team_start(team, 0);
    for (int i; (i = ingot_team_next(team, 0)) < job->n;) job->fn(job->user, i);
}

void ingot_engine_parallel(ingot_engine *engine, int n, void (*fn)(void *user, int i), void *user) {
    parallel_job job = {n, fn, user};
    ingot_pool_run(engine->device->pool, parallel_team, &job);
}
