/* Contexts of the recall tasks through engines, and how well the answers are predicted. */
#include "../base/alloc.h"
#include "../base/error.h"
#include "logprob.h"
#include "recall_tasks.h"
#include "tracks.h"
#include <math.h>
#include <stdio.h>

static const struct { const char *name, *description; } tasks[INGOT_N_RECALL_TASKS] = {
    [INGOT_RECALL_COPY] = {"copy", "a passage and the same passage again: next tokens of the second copy"},
    [INGOT_RECALL_PASSKEY] = {"passkey", "a number that was said once"},
    [INGOT_RECALL_NEEDLES] = {"needles", "numbers of several names, asked for in another order"},
    [INGOT_RECALL_VARIABLES] = {"variables", "the variables that a value was handed on to, one from another (after RULER)"},
};

const char *ingot_recall_task_name(int task) { return task >= 0 && task < INGOT_N_RECALL_TASKS ? tasks[task].name : NULL; }
const char *ingot_recall_task_description(int task) { return task >= 0 && task < INGOT_N_RECALL_TASKS ? tasks[task].description : NULL; }

typedef struct prediction { double logprob; bool right; } prediction;

typedef struct recall {
    const ingot_recall_config *config;
    ingot_model *model;
    recall_text text;
    eval_tracks set;
    int n_plans;
    bool *want;         /* [n_ctx] */
    int *position;      /* [n_ctx]: of row i */
    prediction *made;   /* [n_plans][n_ctx]: of token i */
    recall_sample sample;
} recall;

static void score_row(void *user, int track, int row, const float *base, const float *logits) {
    (void)base;
    const recall *r = user;
    const int next = r->position[row] + 1;
    int top;
    const double lse = ingot_log_sum_exp(logits, r->set.n_vocab, &top);
    const int32_t right = r->sample.tokens[next];
    r->made[(size_t)track * (size_t)r->config->n_ctx + (size_t)next] = (prediction){(double)logits[right] - lse, top == right};
}

/* Sums for now; finish() makes means of them. */
static void add(ingot_recall_cell *c, const prediction *made, const recall_answer *a) {
    bool all = true;
    for (int i = 0; i < a->n; i++) {
        all = all && made[a->first + i].right;
        c->logprob += made[a->first + i].logprob;
    }
    c->n_answers++;
    c->n_tokens += a->n;
    c->accuracy += all;
}

static void finish(ingot_recall_cell *c) {
    c->accuracy = c->n_answers ? c->accuracy / c->n_answers : NAN;
    c->logprob = c->n_tokens ? c->logprob / c->n_tokens : NAN;
}

static void tally(const recall *r, ingot_recall_result *out, int task) {
    for (int i = 0; i < r->n_plans; i++) {
        if (!r->set.tracks[i].engine) continue;
        const prediction *made = r->made + (size_t)i * (size_t)r->config->n_ctx;
        for (int a = 0; a < r->sample.n_answers; a++) {
            add(&out[i].by_depth[task][r->sample.answers[a].depth], made, &r->sample.answers[a]);
            add(&out[i].all[task], made, &r->sample.answers[a]);
        }
    }
}

static ingot_status run_sample(recall *r) {
    const int n = r->config->n_ctx;
    for (int i = 0; i < n; i++) r->want[i] = false;
    for (int a = 0; a < r->sample.n_answers; a++)
        for (int i = 0; i < r->sample.answers[a].n; i++) r->want[r->sample.answers[a].first + i - 1] = true;
    for (int i = 0, row = 0; i < n; i++)
        if (r->want[i]) r->position[row++] = i;
    const eval_sequence q = {r->sample.tokens, r->want, n};
    return ingot_eval_tracks_run(&r->set, &q, score_row, r);
}

static ingot_status run_task(recall *r, ingot_recall_result *out, int task) {
    const int n_depths = ingot_recall_one_depth(task) ? r->config->n_depths : 1;
    for (int d = 0; d < n_depths; d++)
        for (int i = 0; i < r->config->n_samples && ingot_eval_tracks_alive(&r->set); i++) {
            const recall_spec spec = {.config = r->config, .task = task, .depth = d, .sample = i, .text = r->text};
            r->set.work.what = ingot_recall_task_name(task);
            INGOT_TRY(ingot_eval_work_add(&r->set.work, 0));
            INGOT_TRY(ingot_recall_sample_make(&r->sample, r->model, &spec));
            const ingot_status s = run_sample(r);
            if (s == INGOT_OK) tally(r, out, task);
            ingot_recall_sample_free(&r->sample);
            INGOT_TRY(s);
        }
    return INGOT_OK;
}

static void collect(const recall *r, ingot_recall_result *out) {
    for (int i = 0; i < r->n_plans; i++) {
        out[i].status = r->set.tracks[i].status;
        snprintf(out[i].message, sizeof out[i].message, "%s", r->set.tracks[i].message);
        for (int t = 0; t < INGOT_N_RECALL_TASKS; t++) {
            finish(&out[i].all[t]);
            for (int d = 0; d < INGOT_RECALL_MAX_DEPTHS; d++) finish(&out[i].by_depth[t][d]);
        }
    }
}

static ingot_status run(recall *r, ingot_recall_result *out, const ingot_eval_plan *plans) {
    const ingot_recall_config *c = r->config;
    const size_t n = (size_t)c->n_ctx;
    const eval_tracks_config config = {.n_ctx = c->n_ctx, .n_batch = c->n_batch, .activations = c->activations,
                                       .progress = c->progress, .progress_user = c->progress_user};
    r->want = ingot_alloc_array(n, sizeof *r->want, INGOT_MEM_OTHER);
    r->position = ingot_alloc_array(n, sizeof *r->position, INGOT_MEM_OTHER);
    r->made = ingot_alloc_array((size_t)r->n_plans, n * sizeof *r->made, INGOT_MEM_OTHER);
    if (!r->want || !r->position || !r->made) return ingot_fail(INGOT_E_NOMEM, "out of memory for contexts of %zu tokens", n);
    INGOT_TRY(ingot_eval_tracks_open(&r->set, r->model, &config, plans, r->n_plans));
    double contexts = 0;
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (c->tasks >> t & 1) contexts += (double)c->n_samples * (ingot_recall_one_depth(t) ? c->n_depths : 1);
    r->set.work.total = contexts * c->n_ctx * r->n_plans;
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (c->tasks >> t & 1) INGOT_TRY(run_task(r, out, t));
    collect(r, out);
    if (c->progress) c->progress(c->progress_user, "done", 1.0);
    return INGOT_OK;
}

static ingot_status check(const ingot_recall_config *c) {
    if (c->n_ctx < 2) return ingot_fail(INGOT_E_INVALID, "contexts of %d tokens, must be at least 2", c->n_ctx);
    if (!c->tasks || c->tasks >> INGOT_N_RECALL_TASKS) return ingot_fail(INGOT_E_INVALID, "tasks 0x%x, must be some of the lowest %d bits", c->tasks, INGOT_N_RECALL_TASKS);
    if (c->n_samples < 1) return ingot_fail(INGOT_E_INVALID, "%d samples, must be at least 1", c->n_samples);
    if (c->hops < 1 || c->hops > 8) return ingot_fail(INGOT_E_INVALID, "%d hops, must be 1 to 8", c->hops);
    if (!c->depths || c->n_depths < 1 || c->n_depths > INGOT_RECALL_MAX_DEPTHS) return ingot_fail(INGOT_E_INVALID, "%d depths, must be 1 to %d", c->n_depths, INGOT_RECALL_MAX_DEPTHS);
    for (int i = 0; i < c->n_depths; i++) {
        if (c->depths[i] < 0 || c->depths[i] > 100) return ingot_fail(INGOT_E_INVALID, "a depth of %d %%, must be 0 to 100", c->depths[i]);
        if (i && c->depths[i] <= c->depths[i - 1]) return ingot_fail(INGOT_E_INVALID, "the depth %d %% behind %d %%: depths must ascend", c->depths[i], c->depths[i - 1]);
    }
    return INGOT_OK;
}

ingot_status ingot_eval_recall(ingot_recall_result *out, ingot_model *model, const int32_t *text, size_t n_text, const ingot_recall_config *config,
                               const ingot_eval_plan *plans, int n_plans) {
    if (!out || !plans || n_plans < 1) return ingot_fail(INGOT_E_INVALID, "%d plans, or no place for their results", n_plans);
    for (int i = 0; i < n_plans; i++) out[i] = (ingot_recall_result){0};
    if (!model || !config) return ingot_fail(INGOT_E_INVALID, "recall needs a model and a configuration");
    INGOT_TRY(check(config));
    if (text) INGOT_TRY(ingot_eval_check_tokens(model, text, n_text));
    recall r = {.config = config, .model = model, .text = {text, text ? n_text : 0}, .n_plans = n_plans};
    const ingot_status s = run(&r, out, plans);
    ingot_eval_tracks_close(&r.set);
    ingot_dealloc(r.want);
    ingot_dealloc(r.position);
    ingot_dealloc(r.made);
    if (s == INGOT_OK) return s;
    for (int i = 0; i < n_plans; i++) out[i] = (ingot_recall_result){0};
    return s;
}
