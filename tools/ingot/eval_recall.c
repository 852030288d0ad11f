/* ingot eval recall. */
#include "common/lists.h"
#include "eval_common.h"
#include "recall_table.h"
#include <limits.h>
#include <string.h>

/* One table: a task, plans as rows, depths as columns. A cell is the share of right answers and the mean log p of their tokens. */
static void print_task(const recall_setup *r, int task, const ingot_recall_result *results, const char *const *names, int n_plans) {
    printf("\n%s: %s\n  %-40s %14s", ingot_recall_task_name(task), ingot_recall_task_description(task), "", "all depths");
    for (int d = 0; d < r->config.n_depths; d++) printf(" %11d %%", r->depths[d]);
    printf("\n");
    for (int i = 0; i < n_plans; i++) {
        const ingot_recall_cell *all = &results[i].all[task];
        char a[32], b[32];
        printf("  %-40s %s %% %s", names[i], eval_figure(a, sizeof a, "%6.1f", 100 * all->accuracy), eval_figure(b, sizeof b, "%6.3f", all->logprob));
        for (int d = 0; d < r->config.n_depths; d++) {
            const ingot_recall_cell *c = &results[i].by_depth[task][d];
            printf(" %s %% %s", eval_figure(a, sizeof a, "%4.0f", 100 * c->accuracy), eval_figure(b, sizeof b, "%6.3f", c->logprob));
        }
        printf("\n");
    }
}

static void print_text(const settings *s, const recall_setup *r, const ingot_recall_result *results, const char *const *names, int n_plans) {
    printf("contexts of %d tokens, %d of each kind, seed %llu, %s activations, %s, between: %s\n", r->config.n_ctx, r->config.n_samples,
           (unsigned long long)r->config.seed, eval_activations(s), s->stream ? "token by token" : "in batches", recall_filler(s));
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (r->config.tasks >> t & 1) print_task(r, t, results, names, n_plans);
}

static int measure(const settings *s, eval_job *j, recall_setup *r, json_t *out) {
    char name[INGOT_PLAN_TEXT_BYTES];
    ingot_eval_plan plans[2] = {{.stream = false}, j->plan};
    const char *const names[2] = {"f16", ingot_plan_print(&j->plan.plan, name, sizeof name)};
    ingot_recall_result results[2];
    if (ingot_plan_parse(&plans[0].plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}) != INGOT_OK) return cli_fail_status(INGOT_E_INVALID);
    const int n_plans = strcmp(name, "f16") || s->stream ? 2 : 1;
    j->u.progress = progress_start(s->quiet);
    r->config.progress_user = &j->u.progress;
    const ingot_status status = ingot_eval_recall(results, j->u.model, j->ids, j->n_ids, &r->config, plans, n_plans);
    progress_wipe(&j->u.progress);
    if (status != INGOT_OK) return eval_fail(status);
    for (int i = 0; i < n_plans; i++)
        if (results[i].status != INGOT_OK) return cli_fail("%s", results[i].message);
    if (!out) print_text(s, r, results, names, n_plans);
    for (int i = 0; out && i < n_plans; i++) {
        json_t *row = recall_json(r, &results[i]);
        json_put(row, "method", json_text(names[i]));
        json_put(row, "stream", json_boolean(plans[i].stream));
        json_push(json_object_get(out, "results"), row);
    }
    return CLI_DONE;
}

static int run_recall(const settings *s) {
    recall_setup r;
    int contexts[16];
    const int n_contexts = list_integers("eval recall", "ctx", s->contexts, 2, INT_MAX, contexts, 16);
    if (n_contexts < 0 || !recall_read(&r, s, "eval recall")) return CLI_WRONG_USE;
    json_t *out = s->json ? json_object() : NULL;
    if (out) {
        json_put(out, "results", json_array());
        json_put(out, "n_samples", json_integer(r.config.n_samples));
        json_put(out, "hops", json_integer(r.config.hops));
        json_put(out, "seed", json_integer((json_int_t)r.config.seed));
        json_put(out, "filler", json_text(recall_filler(s)));
        json_put(out, "activations", json_text(eval_activations(s)));
    }
    eval_job j = {0};
    int code = eval_open(&j, s, "eval recall", false);
    for (int i = 0; !code && i < n_contexts; i++) {
        if (i && !out) printf("\n");
        r.config.n_ctx = contexts[i];
        code = measure(s, &j, &r, out);
    }
    eval_close(&j);
    if (code || !out) {
        json_decref(out);
        return code;
    }
    return json_print(out);
}

static const option_group *const groups[] = {&settings_model, &settings_text, &settings_contexts, &settings_recall, &settings_stream, &settings_cache,
                                             &settings_compute, &settings_passes, &settings_json, &settings_quiet, NULL};

const command eval_recall = {
    .name = "eval recall", .summary = "Recall over long contexts: copies, pass keys, needles, chains of variables", .synopsis = "-m MODEL [-f TEXT] [options]",
    .details = "Things are hidden at several depths of a text and asked for at its end; f16 is measured beside the given cache. The text between them comes from -f; without "
               "one, made-up sentences stand there.",
    .groups = groups, .defaults = recall_defaults, .print_more = settings_print_methods, .run = run_recall,
};
