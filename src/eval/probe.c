/* ingot_eval_probe: one window through the model with the f16 cache, then its queries, keys and values through a cache of the plan. */
#include <ingot/probe.h>
#include "../base/alloc.h"
#include "../base/error.h"
#include "../cache/cache_team.h"
#include "../engine/capture.h"
#include "../policy/policy.h"
#include "probe_head.h"
#include <math.h>
#include <string.h>

enum { PASS_TOKENS = 256, LEAST_TOKENS = 16 };
#define SHARE_MODEL 0.3
#define SHARE_CACHE 0.2

/* The vectors of one layer, all tokens of the window. */
typedef struct layer_data {
    float *q, *k, *v; /* [n_ctx][heads][dim]; one block, q owns it */
    float *out;       /* [n_ctx][n_heads][v_dim] outputs of the plan's cache */
} layer_data;

typedef struct probe {
    const ingot_probe_config *config;
    ingot_model *model;
    ingot_model_info info;
    ingot_engine *engine;
    ingot_session *session;
    ingot_cache *cache;
    int seq, n;
    layer_data *layers;
    int layer;          /* the one being looked at */
    int first_head;     /* of that layer, in the result */
    const ingot_policy *policies[INGOT_PROBE_POLICIES];
    ingot_probe_result *result;
    ingot_status *failed; /* [most KV heads of a layer] */
} probe;

static ingot_status report(const probe *p, const char *what, double fraction) {
    const ingot_probe_config *c = p->config;
    return !c->progress || c->progress(c->progress_user, what, fraction) ? INGOT_OK : ingot_fail(INGOT_E_CANCELLED, "the probe was cancelled");
}

/* --- the model's run --- */

static void copy_rows(float *to, const float *from, ptrdiff_t stride, const ingot_captured *c, int width) {
    for (int i = 0; i < c->n_tokens; i++) memcpy(to + (ptrdiff_t)c->positions[i] * width, from + i * stride, (size_t)width * sizeof *to);
}

static void take(void *user, const ingot_captured *c) {
    const probe *p = user;
    const ingot_layer_shape *l = &p->info.layers[c->layer];
    const layer_data *d = &p->layers[c->layer];
    copy_rows(d->q, c->q, c->q_stride, c, l->n_heads * l->k_dim);
    copy_rows(d->k, c->k, c->k_stride, c, l->n_kv_heads * l->k_dim);
    copy_rows(d->v, c->v, c->v_stride, c, l->n_kv_heads * l->v_dim);
}

static ingot_status allocate(probe *p) {
    const size_t n = (size_t)p->n;
    int most = 0;
    p->layers = ingot_alloc_array((size_t)p->info.n_layers, sizeof *p->layers, INGOT_MEM_OTHER);
    for (int i = 0; p->layers && i < p->info.n_layers; i++) {
        const ingot_layer_shape *l = &p->info.layers[i];
        const size_t q = (size_t)l->n_heads * (size_t)l->k_dim, k = (size_t)l->n_kv_heads * (size_t)l->k_dim, v = (size_t)l->n_kv_heads * (size_t)l->v_dim,
                     out = (size_t)l->n_heads * (size_t)l->v_dim;
        layer_data *d = &p->layers[i];
        d->q = ingot_alloc_array(n, (q + k + v + out) * sizeof *d->q, INGOT_MEM_OTHER);
        if (!d->q) return ingot_fail(INGOT_E_NOMEM, "out of memory for the vectors of %d tokens in %d layers", p->n, p->info.n_layers);
        d->k = d->q + n * q;
        d->v = d->k + n * k;
        d->out = d->v + n * v;
        most = most > l->n_kv_heads ? most : l->n_kv_heads;
        p->result->n_heads += l->n_kv_heads;
    }
    p->failed = ingot_alloc_array((size_t)most, sizeof *p->failed, INGOT_MEM_OTHER);
    p->result->heads = ingot_alloc_array((size_t)p->result->n_heads, sizeof *p->result->heads, INGOT_MEM_OTHER);
    return p->layers && p->failed && p->result->heads ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for a probe of %d tokens", p->n);
}

static ingot_status run_model(probe *p, const int32_t *tokens) {
    const int bos = ingot_model_adds_bos(p->model) ? ingot_model_bos(p->model) : -1;
    ingot_engine_config config = {.n_ctx = p->n, .max_sessions = 1, .n_batch = PASS_TOKENS, .max_logits = 1, .activations = INGOT_ACT_FLOAT};
    ingot_batch_token batch[PASS_TOKENS];
    INGOT_TRY(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}));
    INGOT_TRY(ingot_engine_create(&p->engine, p->model, &config));
    INGOT_TRY(ingot_session_create(&p->session, p->engine));
    ingot_engine_capture(p->engine, take, p);
    for (int at = 0; at < p->n; at += PASS_TOKENS) {
        const int size = p->n - at < PASS_TOKENS ? p->n - at : PASS_TOKENS;
        INGOT_TRY(report(p, "reading the window", SHARE_MODEL * at / p->n));
        for (int i = 0; i < size; i++) batch[i] = (ingot_batch_token){p->session, at + i == 0 && bos >= 0 ? bos : tokens[at + i], false};
        INGOT_TRY(ingot_engine_forward(p->engine, batch, size, NULL));
    }
    ingot_engine_capture(p->engine, NULL, NULL);
    return INGOT_OK;
}

/* --- one head --- */

/* Keys as the cache holds them, in the model's frame. Positions that a sliding layer has dropped are not packed. */
static bool restore_keys(const probe *p, int head, float *keys, bool *packed) {
    const int dim = p->info.layers[p->layer].k_dim;
    float *rows = ingot_alloc_array(INGOT_PAGE_TOKENS, (size_t)dim * sizeof *rows, INGOT_MEM_SCRATCH);
    uint8_t *block = ingot_alloc_array(INGOT_PAGE_TOKENS, 2 * (size_t)dim + 4, INGOT_MEM_SCRATCH);
    for (int t = 0; rows && block && t < p->n; t++) {
        ingot_kv_fmt f;
        packed[t] = false;
        if (ingot_cache_get_block(p->cache, p->layer, p->seq, false, head, t, block, &f) != INGOT_OK) continue;
        ingot_codec_get(f.codec)->decode(&f, block, rows);
        float *key = keys + (ptrdiff_t)t * dim;
        memcpy(key, rows + (ptrdiff_t)(t % ingot_codec_tokens(&f)) * dim, (size_t)dim * sizeof *key);
        packed[t] = ingot_cache_restore_row(p->cache, p->layer, p->seq, false, head, t, key);
    }
    const bool ok = rows && block;
    ingot_dealloc(rows);
    ingot_dealloc(block);
    return ok;
}

static void rank_policies(const probe *p, ingot_probe_head *h, const probe_input *in, const float *attention, const int *witnesses, float *scores) {
    for (int i = 0; i < p->result->n_policies; i++) {
        const ingot_policy *policy = p->policies[i];
        size_t n = 0;
        const float *cal = policy->needs == INGOT_CAL_NONE ? NULL : ingot_calibration_get(p->config->calibration, policy->needs, 0, 0, false, h->layer, h->head, &n);
        h->rank[i] = NAN;
        if (policy->needs != INGOT_CAL_NONE && n != (size_t)in->k_dim) continue;
        for (int t = 0; t < in->n; t++) scores[t] = policy->score(in->k.x + t * in->k.stride, in->k_dim, cal);
        h->rank[i] = ingot_probe_rank(scores, attention, witnesses, in->n);
    }
}

static ingot_status look_at_head(const probe *p, int head, float *keys, bool *packed, float *attention, int *witnesses) {
    const ingot_layer_shape *l = &p->info.layers[p->layer];
    const layer_data *d = &p->layers[p->layer];
    const int group = l->n_heads / l->n_kv_heads;
    const probe_input in = {.n = p->n, .k_dim = l->k_dim, .v_dim = l->v_dim, .n_group = group, .sliding_window = l->sliding_window, .scale = l->scale,
                            .q = {d->q + (ptrdiff_t)head * group * l->k_dim, (ptrdiff_t)l->n_heads * l->k_dim}, .k = {d->k + (ptrdiff_t)head * l->k_dim, (ptrdiff_t)l->n_kv_heads * l->k_dim},
                            .v = {d->v + (ptrdiff_t)head * l->v_dim, (ptrdiff_t)l->n_kv_heads * l->v_dim}, .out = {d->out + (ptrdiff_t)head * group * l->v_dim, (ptrdiff_t)l->n_heads * l->v_dim},
                            .k_stored = keys, .packed = packed};
    ingot_probe_head *h = &p->result->heads[p->first_head + head];
    probe_sums sums = {0};
    if (!restore_keys(p, head, keys, packed)) return ingot_fail(INGOT_E_NOMEM, "out of memory for stored keys");
    INGOT_TRY(ingot_probe_head_run(&sums, attention, witnesses, &in));
    *h = (ingot_probe_head){.layer = p->layer, .head = head, .sliding = l->sliding_window > 0,
                            .score_error = sums.spread > 0.0 ? sqrt(sums.error / sums.spread) : NAN,
                            .output_error = sums.out_square > 0.0 ? sqrt(sums.out_error / sums.out_square) : NAN,
                            .output_cosine = sums.cosine / sums.n_outputs};
    rank_policies(p, h, &in, attention, witnesses, keys); /* there is room for n floats */
    return INGOT_OK;
}

static void head_item(void *user, int head) {
    const probe *p = user;
    const size_t n = (size_t)p->n;
    float *keys = ingot_alloc_array(n, (size_t)p->info.layers[p->layer].k_dim * sizeof *keys, INGOT_MEM_SCRATCH);
    float *attention = ingot_alloc_array(n, sizeof *attention, INGOT_MEM_SCRATCH);
    int *witnesses = ingot_alloc_array(n, sizeof *witnesses, INGOT_MEM_SCRATCH);
    bool *packed = ingot_alloc_array(n, sizeof *packed, INGOT_MEM_SCRATCH);
    const bool ok = keys && attention && witnesses && packed;
    p->failed[head] = ok ? look_at_head(p, head, keys, packed, attention, witnesses) : INGOT_E_NOMEM;
    void *owned[] = {keys, attention, witnesses, packed};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
}

/* --- all of it --- */

/* Policies that score keys as they come, where what they need is at hand. */
static void list_policies(probe *p) {
    for (int i = 0; i < INGOT_N_POLICIES && p->result->n_policies < INGOT_PROBE_POLICIES; i++) {
        const ingot_policy *policy = ingot_policy_get(i);
        if (!policy->score || (policy->needs != INGOT_CAL_NONE && !p->config->calibration)) continue;
        p->policies[p->result->n_policies] = policy;
        p->result->policies[p->result->n_policies++].name = policy->name;
    }
}

static ingot_status open_cache(probe *p) {
    ingot_cache_config config = {.layers = p->info.layers, .n_layers = p->info.n_layers, .plan = p->config->plan, .max_tokens = p->n, .max_seqs = 1, .max_batch = p->n,
                                 .calibration = p->config->calibration};
    ingot_plan full;
    if (p->config->calibration) INGOT_TRY(ingot_model_check_calibration(p->model, p->config->calibration));
    INGOT_TRY(ingot_plan_parse(&full, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}));
    config.plan.policy = full.policy;
    INGOT_TRY(ingot_cache_create(&p->cache, p->config->device, &config));
    return ingot_cache_seq_open(p->cache, &p->seq);
}

/* The whole window in one step: every query sees older tokens as they are stored. */
static ingot_status run_cache(probe *p) {
    int *seqs = ingot_alloc_array((size_t)p->n, sizeof *seqs, INGOT_MEM_SCRATCH);
    if (!seqs) return ingot_fail(INGOT_E_NOMEM, "out of memory for a step of %d tokens", p->n);
    for (int i = 0; i < p->n; i++) seqs[i] = p->seq;
    const ingot_status s = ingot_cache_step_begin(p->cache, seqs, p->n, NULL);
    ingot_dealloc(seqs);
    INGOT_TRY(s);
    for (int i = 0; i < p->info.n_layers; i++) {
        const layer_data *d = &p->layers[i];
        INGOT_TRY(report(p, "filling the cache", SHARE_MODEL + SHARE_CACHE * i / p->info.n_layers));
        INGOT_TRY(ingot_cache_layer(p->cache, i, d->q, d->k, d->v, d->out));
    }
    ingot_cache_step_end(p->cache);
    return INGOT_OK;
}

static ingot_status look_at_layers(probe *p) {
    for (p->layer = 0; p->layer < p->info.n_layers; p->layer++) {
        const int n = p->info.layers[p->layer].n_kv_heads;
        INGOT_TRY(report(p, "looking at heads", SHARE_MODEL + SHARE_CACHE + (1.0 - SHARE_MODEL - SHARE_CACHE) * p->layer / p->info.n_layers));
        ingot_engine_parallel(p->engine, n, head_item, p);
        for (int h = 0; h < n; h++)
            if (p->failed[h] != INGOT_OK) return ingot_fail(p->failed[h], "out of memory for KV head %d of layer %d", h, p->layer);
        p->first_head += n;
    }
    return report(p, "done", 1.0);
}

/* Adds x to a mean of which NaN is no part. */
static void add_to_mean(double *sum, int *n, double x) {
    if (isfinite(x)) *sum += x, ++*n;
}

static void summarize_policy(ingot_probe_result *r, int i) {
    ingot_probe_policy *p = &r->policies[i];
    int positive = 0;
    p->least_rank = NAN;
    for (int h = 0; h < r->n_heads; h++) {
        const double rank = r->heads[h].rank[i];
        if (r->heads[h].sliding || !isfinite(rank)) continue;
        p->mean_rank += rank;
        p->least_rank = fmin(p->least_rank, rank); /* the number, where the other is NaN */
        positive += rank > 0.0;
        p->n_heads++;
    }
    p->mean_rank = p->n_heads ? p->mean_rank / p->n_heads : NAN;
    p->positive = p->n_heads ? (double)positive / p->n_heads : NAN;
}

static void summarize(ingot_probe_result *r) {
    double *const mean[] = {&r->score_error, &r->output_error, &r->output_cosine};
    int n[3] = {0};
    for (int i = 0; i < r->n_heads; i++) {
        add_to_mean(mean[0], &n[0], r->heads[i].score_error);
        add_to_mean(mean[1], &n[1], r->heads[i].output_error);
        add_to_mean(mean[2], &n[2], r->heads[i].output_cosine);
    }
    for (int j = 0; j < 3; j++) *mean[j] = n[j] ? *mean[j] / n[j] : NAN;
    for (int i = 0; i < r->n_policies; i++) summarize_policy(r, i);
}

static ingot_status run(probe *p, const int32_t *tokens) {
    INGOT_TRY(allocate(p));
    INGOT_TRY(open_cache(p)); /* what the plan lacks is said before the work */
    list_policies(p);
    INGOT_TRY(run_model(p, tokens));
    INGOT_TRY(run_cache(p));
    INGOT_TRY(look_at_layers(p));
    summarize(p->result);
    return INGOT_OK;
}

static void release(probe *p) {
    for (int i = 0; p->layers && i < p->info.n_layers; i++) ingot_dealloc(p->layers[i].q);
    ingot_dealloc(p->layers);
    ingot_dealloc(p->failed);
    if (p->cache) ingot_cache_destroy(p->cache);
    ingot_session_destroy(p->session);
    ingot_engine_destroy(p->engine);
}

ingot_status ingot_eval_probe(ingot_probe_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_probe_config *config) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the result");
    *out = (ingot_probe_result){0};
    if (!model || !tokens || !config || !config->device) return ingot_fail(INGOT_E_INVALID, "a probe needs a model, tokens, a configuration and a device");
    if (config->n_ctx < LEAST_TOKENS) return ingot_fail(INGOT_E_INVALID, "a window of %d tokens, must be at least %d", config->n_ctx, LEAST_TOKENS);
    if ((size_t)config->n_ctx > n) return ingot_fail(INGOT_E_INVALID, "the text has %zu tokens, %d are needed", n, config->n_ctx);
    probe p = {.config = config, .model = model, .n = config->n_ctx, .result = out};
    ingot_model_info_get(model, &p.info);
    out->n_ctx = p.n;
    const ingot_status s = run(&p, tokens);
    release(&p);
    if (s == INGOT_OK) return s;
    ingot_dealloc(out->heads);
    *out = (ingot_probe_result){0};
    return s;
}
