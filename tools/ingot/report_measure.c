/* What is not in the report yet, a few plans at a time; each is written as soon as it is there. */
#include "report.h"
#include "common/kv_report.h"
#include "common/system.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, BLOCK = 9 }; /* of decoding: 40 tokens are timed */

/* A kind of measurement: whether a row has it, what it costs (in tokens), and how to take it for a few rows. */
typedef struct measure {
    const char *what;
    int n_ctx;      /* tokens of a window or context, or the depth */
    unsigned tasks; /* of recall */
    bool (*has)(const struct measure *m, const report_row *row);
    double (*cost)(const struct measure *m, const report *r, const report_row *row);
    ingot_status (*take)(const struct measure *m, report *r, report_row *const *rows, const ingot_eval_plan *plans, int n);
} measure;

/* --- progress --- */
static bool show(void *user, const char *what, double fraction) {
    report *r = user;
    const double done = (r->work_done + r->work_unit * fraction) / r->work_total, seconds = system_seconds() - r->started;
    char text[320], left[48] = "";
    if (done > 0.01) snprintf(left, sizeof left, ", about %.0f min left", seconds / done * (1 - done) / 60 + 0.5);
    snprintf(text, sizeof text, "%s, %s%s:", r->label, what, left);
    progress_show(&r->job.u.progress, text, done < 1 ? done : 1);
    return !system_interrupted();
}

static void say(report *r, const report_row *row, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(report *r, const report_row *row, const char *fmt, ...) {
    char text[512];
    va_list args;
    if (r->s->quiet) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    progress_wipe(&r->job.u.progress);
    fprintf(stderr, "%s: %s\n", row->name, text);
}

/* A plan that was refused by the library does not come again. */
static bool refused(report *r, report_row *row, ingot_status status, const char *message) {
    if (status == INGOT_OK) return false;
    json_put(row->json, "skipped", json_text(message));
    say(r, row, "skipped: %s", message);
    row->skipped = cli_realloc(NULL, strlen(message) + 1, 1);
    strcpy(row->skipped, message);
    return true;
}

/* --- memory --- */
/* Elements of tokens that are kept exact. */
static double exact_elements(const ingot_model_info *info, const ingot_plan *plan, int n_positions) {
    double n = 0;
    for (int i = 0; i < info->n_layers; i++) {
        const ingot_layer_shape *l = &info->layers[i];
        const int held = l->sliding_window && l->sliding_window < n_positions ? l->sliding_window : n_positions;
        const int exact = plan->window + plan->sinks < held ? plan->window + plan->sinks : held;
        n += (double)exact * l->n_kv_heads * (l->k_dim + l->v_dim);
    }
    return n;
}

static json_t *memory_json(const report *r, const ingot_plan *plan, const ingot_cache_memory *m) {
    json_t *o = json_object();
    const double packed = (double)m->elements - (m->exact_bytes ? exact_elements(&r->job.u.info, plan, m->n_positions) : 0);
    json_put(o, "n_tokens", json_integer(m->n_tokens));
    json_put(o, "n_positions", json_integer(m->n_positions));
    json_put(o, "resident_bytes", json_integer((json_int_t)m->resident_bytes));
    json_put(o, "exact_bytes", json_integer((json_int_t)m->exact_bytes));
    json_put(o, "method_bytes", json_integer((json_int_t)m->method_bytes));
    json_put(o, "bits_per_element", json_number(m->elements ? 8.0 * (double)m->resident_bytes / (double)m->elements : 0));
    json_put(o, "packed_bits_per_element", packed > 0 ? json_number(8.0 * (double)(m->resident_bytes - m->exact_bytes) / packed) : json_null());
    return o;
}

/* --- windows --- */
static int count_windows(const report *r, int n_ctx) {
    const size_t whole = r->job.n_ids / (size_t)n_ctx;
    return r->s->n_windows ? r->s->n_windows : whole ? (int)whole : 1;
}

static const char *context_key(int n_ctx, char buf[16]) {
    snprintf(buf, 16, "%d", n_ctx);
    return buf;
}

static bool has_windows(const measure *m, const report_row *row) {
    char key[16];
    return json_object_get(json_object_get(row->json, "contexts"), context_key(m->n_ctx, key)) != NULL;
}

static double windows_cost(const measure *m, const report *r, const report_row *row) {
    return (double)count_windows(r, m->n_ctx) * m->n_ctx * (row->plan.stream ? REPORT_DECODE : 1);
}

static json_t *windows_json(const ingot_eval_result *e) {
    json_t *o = json_object(), *means = json_array();
    json_put(o, "n_windows", json_integer(e->n_windows));
    json_put(o, "n_tokens", json_integer((json_int_t)e->n_tokens));
    json_put(o, "ppl", json_number(e->ppl));
    json_put(o, "ppl_base", json_number(e->ppl_base));
    EVAL_PUT_KLD(o, e);
    for (int i = 0; i < e->n_windows; i++) json_push(means, json_number(e->windows[i].kld_mean));
    json_put(o, "window_means", means);
    return o;
}

static ingot_status take_windows(const measure *m, report *r, report_row *const *rows, const ingot_eval_plan *plans, int n) {
    const ingot_eval_config config = {.n_ctx = m->n_ctx, .n_windows = r->s->n_windows, .n_batch = r->s->n_batch,
                                      .activations = (ingot_activations)r->s->activations, .progress = show, .progress_user = r};
    ingot_eval_result *e = cli_realloc(NULL, (size_t)n, sizeof *e);
    char key[16];
    const ingot_status status = ingot_eval_kld_many(e, r->job.u.model, r->job.ids, r->job.n_ids, &config, plans, n);
    for (int i = 0; status == INGOT_OK && i < n; i++) {
        if (!refused(r, rows[i], e[i].status, e[i].message)) {
            const kv_claim claim = kv_claim_of(&plans[i].plan, &r->job.u.info, m->n_ctx, m->n_ctx);
            json_t *o = windows_json(&e[i]);
            json_put(o, "memory", memory_json(r, &plans[i].plan, &e[i].memory));
            json_put(rows[i]->json, "claimed_bits", json_number(claim.elements > 0 ? 8 * claim.bytes / claim.elements : 0));
            json_put(report_child(rows[i]->json, "contexts"), context_key(m->n_ctx, key), o);
            say(r, rows[i], "%d tokens: perplexity %.3f, KLD %.5f, top-1 %.2f %%", m->n_ctx, e[i].ppl, e[i].kld_mean, 100 * e[i].top1_agreement);
        }
        ingot_free_memory(e[i].windows);
    }
    free(e);
    return status;
}

/* --- speed --- */
static bool has_speed(const measure *m, const report_row *row) {
    return json_integer_value(json_object_get(json_object_get(row->json, "speed"), "depth")) == m->n_ctx;
}

static double speed_cost(const measure *m, const report *r, const report_row *row) {
    (void)r, (void)row;
    return m->n_ctx + (double)REPORT_DECODE * ROUNDS * BLOCK;
}

static ingot_status take_speed(const measure *m, report *r, report_row *const *rows, const ingot_eval_plan *plans, int n) {
    const ingot_speed_config config = {.depth = m->n_ctx, .n_rounds = ROUNDS, .n_block = BLOCK, .n_batch = r->s->n_batch,
                                       .activations = INGOT_ACT_INT8, .progress = show, .progress_user = r};
    ingot_speed_result *e = cli_realloc(NULL, (size_t)n, sizeof *e);
    const ingot_status status = ingot_eval_speed(e, r->job.u.model, r->job.ids, r->job.n_ids, &config, plans, n);
    for (int i = 0; status == INGOT_OK && i < n; i++) {
        if (refused(r, rows[i], e[i].status, e[i].message)) continue;
        json_t *o = json_object();
        json_put(o, "depth", json_integer(m->n_ctx));
        json_put(o, "tok_s", json_number(e[i].tokens_per_second));
        json_put(o, "f16_tok_s", json_number(e[i].base_tokens_per_second));
        json_put(o, "memory", memory_json(r, &plans[i].plan, &e[i].memory));
        json_put(rows[i]->json, "speed", o);
        say(r, rows[i], "decodes %.1f tokens/s behind %d (f16: %.1f)", e[i].tokens_per_second, m->n_ctx, e[i].base_tokens_per_second);
    }
    free(e);
    return status;
}

/* --- recall --- */
/* Whether every task that is asked for is there. */
static bool has_recall(const measure *m, const report_row *row) {
    char key[16];
    const json_t *tasks = json_object_get(json_object_get(json_object_get(row->json, "recall"), context_key(m->n_ctx, key)), "tasks");
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (m->tasks >> t & 1 && !json_object_get(tasks, ingot_recall_task_name(t))) return false;
    return true;
}

static double recall_cost(const measure *m, const report *r, const report_row *row) {
    double contexts = 0;
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (r->recall.config.tasks >> t & 1) contexts += r->recall.config.n_samples * (t == INGOT_RECALL_COPY || t == INGOT_RECALL_NEEDLES ? 1 : r->recall.config.n_depths);
    return contexts * m->n_ctx * (row->plan.stream ? REPORT_DECODE : 1);
}

static ingot_status take_recall(const measure *m, report *r, report_row *const *rows, const ingot_eval_plan *plans, int n) {
    ingot_recall_config *config = &r->recall.config;
    ingot_recall_result *e = cli_realloc(NULL, (size_t)n, sizeof *e);
    char key[16];
    config->n_ctx = m->n_ctx;
    config->progress = show, config->progress_user = r;
    const ingot_status status = ingot_eval_recall(e, r->job.u.model, NULL, 0, config, plans, n);
    for (int i = 0; status == INGOT_OK && i < n; i++) {
        if (refused(r, rows[i], e[i].status, e[i].message)) continue;
        json_put(report_child(rows[i]->json, "recall"), context_key(m->n_ctx, key), recall_json(&r->recall, &e[i]));
        for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
            if (config->tasks >> t & 1) say(r, rows[i], "%s of %d tokens: %.1f %%, log p %.3f", ingot_recall_task_name(t), m->n_ctx, 100 * e[i].all[t].accuracy, e[i].all[t].logprob);
    }
    free(e);
    return status;
}

/* --- all of it --- */
static bool wanted(const measure *m, const report_row *row) { return !row->skipped && !m->has(m, row); }

static double total_cost(const measure *m, const report *r, report_row *rows, int n) {
    double cost = 0;
    for (int i = 0; i < n; i++)
        if (wanted(m, &rows[i])) cost += m->cost(m, r, &rows[i]);
    return cost;
}

static int run(const measure *m, report *r, report_row *rows, int n_rows) {
    report_row *some[64];
    ingot_eval_plan plans[64];
    for (int at = 0; at < n_rows;) {
        int n = 0;
        r->work_unit = 0;
        for (; at < n_rows && n < r->s->n_together; at++) {
            if (!wanted(m, &rows[at])) continue;
            some[n] = &rows[at];
            plans[n++] = rows[at].plan;
            r->work_unit += m->cost(m, r, &rows[at]);
        }
        if (!n) break;
        snprintf(r->label, sizeof r->label, "%s%s, %s", some[0]->name, n > 1 ? " and others" : "", m->what);
        const ingot_status status = m->take(m, r, some, plans, n);
        progress_wipe(&r->job.u.progress);
        if (status == INGOT_E_CANCELLED) return cli_fail("interrupted; what was finished is in %s, and the same command goes on from there", r->s->output);
        if (status != INGOT_OK) return cli_fail_status(status);
        r->work_done += r->work_unit;
        const int code = report_save(r);
        if (code) return code;
    }
    return CLI_DONE;
}

/* All policies that evict with all budgets. */
static report_row *make_budgets(report *r, int *n) {
    report_row *rows = NULL;
    *n = 0;
    for (int p = 0; p < ingot_part_count(INGOT_PART_POLICY); p++)
        for (int b = 0; b < r->n_budgets; b++) {
            const ingot_part_info *policy = ingot_part_get(INGOT_PART_POLICY, p);
            report_row row;
            if (!*policy->options) continue; /* evicts nothing */
            if (!report_budget_row(r, &row, policy->name, r->budgets[b])) {
                cli_warn("%s, a budget of %d tokens: %s", policy->name, r->budgets[b], ingot_last_error());
                continue;
            }
            row.json = report_object(json_object_get(r->doc, "budgets"), row.name);
            json_put(row.json, "policy", json_text(policy->name));
            json_put(row.json, "budget", json_integer(r->budgets[b]));
            if (row.skipped) json_put(row.json, "skipped", json_text(row.skipped));
            else json_object_del(row.json, "skipped");
            rows = cli_realloc(rows, (size_t)*n + 1, sizeof *rows);
            rows[(*n)++] = row;
        }
    return rows;
}

int report_measure(report *r) {
    enum { WINDOWS, SPEED, RECALL, N };
    const measure kinds[N] = {{"windows", 0, 0, has_windows, windows_cost, take_windows}, {"speed", r->s->speed_depth, 0, has_speed, speed_cost, take_speed},
                              {"recall", 0, r->recall.config.tasks, has_recall, recall_cost, take_recall}};
    measure list[64];
    int n = 0, n_budgets, code = CLI_DONE;
    report_row *budgets = make_budgets(r, &n_budgets);
    for (int i = 0; i < r->n_contexts; i++) list[n] = kinds[WINDOWS], list[n++].n_ctx = r->contexts[i];
    const int n_windows = n;
    if (r->s->speed_depth) list[n++] = kinds[SPEED];
    for (int i = 0; r->recall.config.tasks && i < r->n_contexts; i++) list[n] = kinds[RECALL], list[n++].n_ctx = r->contexts[i];
    r->started = system_seconds();
    for (int i = 0; i < n; i++) r->work_total += total_cost(&list[i], r, r->rows, r->n_rows) + (i < n_windows ? total_cost(&list[i], r, budgets, n_budgets) : 0);
    for (int i = 0; i < r->n_rows; i++)
        if (r->rows[i].skipped) say(r, &r->rows[i], "skipped: %s", r->rows[i].skipped);
    for (int i = 0; i < n_budgets; i++)
        if (budgets[i].skipped) say(r, &budgets[i], "skipped: %s", budgets[i].skipped);
    for (int i = 0; !code && i < n; i++) {
        code = run(&list[i], r, r->rows, r->n_rows);
        if (!code && i < n_windows) code = run(&list[i], r, budgets, n_budgets);
    }
    for (int i = 0; i < n_budgets; i++) report_row_free(&budgets[i]);
    free(budgets);
    return code ? code : report_save(r);
}
