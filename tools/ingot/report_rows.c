/* Which plans a report measures: methods, each as it is and with exact tokens, named compositions, and those of the user. */
#include "report.h"
#include "common/kv_report.h"
#include "common/lists.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const compositions[] = {
#define PLAN(text) text,
#include "report_plans.def"
#undef PLAN
};
enum { N_COMPOSITIONS = sizeof compositions / sizeof *compositions };

static char *copy(const char *text) {
    const size_t n = strlen(text) + 1;
    return memcpy(cli_realloc(NULL, n, 1), text, n);
}

/* Why this model and this calibration cannot do a plan; NULL when they can. */
static char *obstacle(const report *r, const ingot_plan *plan) {
    const char *part;
    char text[512];
    const kv_claim claim = kv_claim_of(plan, &r->job.u.info, 1, 1);
    if (claim.unsupported) return copy(claim.unsupported);
    if (r->job.u.calibration || !ingot_plan_needs_calibration(plan, &part)) return NULL;
    snprintf(text, sizeof text, "%s needs a calibration, and none is given (ingot calibrate makes one)", part);
    return copy(text);
}

static void add(report *r, const char *method, ingot_plan *plan) {
    char name[INGOT_PLAN_TEXT_BYTES];
    ingot_plan_fit(plan, r->job.u.info.k_dim, r->job.u.info.v_dim);
    ingot_plan_print(plan, name, sizeof name);
    for (int i = 0; i < r->n_rows; i++)
        if (!strcmp(r->rows[i].name, name)) return;
    r->rows = cli_realloc(r->rows, (size_t)r->n_rows + 1, sizeof *r->rows);
    r->rows[r->n_rows++] = (report_row){.name = copy(name), .method = method, .skipped = obstacle(r, plan),
                                        .plan = {.plan = *plan, .calibration = r->job.u.calibration, .stream = r->s->stream}};
}

/* The plan as it is, and with the tokens of --exact (an f16 cache has nothing to gain from those). An exit code. */
static int add_both(report *r, const char *method, const char *text) {
    ingot_plan plan;
    char name[INGOT_PLAN_TEXT_BYTES];
    ingot_plan_spec spec = {.kv = text, .window = -1, .sinks = -1};
    if (ingot_plan_parse(&plan, &spec) != INGOT_OK) return cli_fail("%s", ingot_last_error()), CLI_WRONG_USE;
    add(r, method, &plan);
    if (!strcmp(ingot_plan_print(&plan, name, sizeof name), "f16") || (!r->window && !r->sinks)) return CLI_DONE;
    if (plan.window >= r->window && plan.sinks >= r->sinks) return CLI_DONE;
    spec.window = plan.window > r->window ? plan.window : r->window;
    spec.sinks = plan.sinks > r->sinks ? plan.sinks : r->sinks;
    if (ingot_plan_parse(&plan, &spec) != INGOT_OK) return cli_fail("%s", ingot_last_error()), CLI_WRONG_USE;
    add(r, method, &plan);
    return CLI_DONE;
}

static int add_methods(report *r) {
    const char *rest = r->s->methods;
    char word[64];
    const bool all = !strcmp(rest, "all");
    if (!strcmp(rest, "none")) return CLI_DONE;
    for (int i = 0; all && i < ingot_part_count(INGOT_PART_METHOD); i++) {
        const char *name = ingot_part_get(INGOT_PART_METHOD, i)->name;
        const int code = add_both(r, name, name);
        if (code) return code;
    }
    for (const char *name; !all && (name = list_next(&rest, word, sizeof word));) {
        const ingot_part_info *found = NULL;
        for (int i = 0; i < ingot_part_count(INGOT_PART_METHOD); i++)
            if (!strcmp(ingot_part_get(INGOT_PART_METHOD, i)->name, name)) found = ingot_part_get(INGOT_PART_METHOD, i);
        if (!found) return cli_wrong_use("eval report", "--methods: no method is called '%s' ('ingot methods' lists them; all and none are words too)", name);
        const int code = add_both(r, found->name, found->name);
        if (code) return code;
    }
    for (int i = 0; all && i < N_COMPOSITIONS; i++) {
        const int code = add_both(r, "", compositions[i]);
        if (code) return code;
    }
    return CLI_DONE;
}

int report_rows_make(report *r) {
    int code = add_methods(r);
    for (int i = 0; !code && i < r->s->plans.n; i++) code = add_both(r, "", r->s->plans.items[i]);
    if (!code && !r->n_rows && !r->n_budgets) return cli_wrong_use("eval report", "there is nothing to measure: --methods none without --plan and --budgets");
    return code;
}

bool report_budget_row(const report *r, report_row *out, const char *policy, int budget) {
    const settings *s = r->s;
    char text[96], name[INGOT_PLAN_TEXT_BYTES];
    *out = (report_row){.method = policy};
    snprintf(text, sizeof text, "%s,budget=%d", policy, budget);
    const ingot_plan_spec spec = {.kv = s->kv, .k = s->kv_k, .v = s->kv_v, .layers = s->kv_layers, .policy = text, .window = s->kv_window,
                                  .sinks = s->kv_sinks >= 0 ? s->kv_sinks : r->sinks};
    if (ingot_plan_parse(&out->plan.plan, &spec) != INGOT_OK) return false;
    ingot_plan_fit(&out->plan.plan, r->job.u.info.k_dim, r->job.u.info.v_dim);
    out->plan.calibration = r->job.u.calibration;
    out->plan.stream = true;
    out->name = copy(ingot_plan_print(&out->plan.plan, name, sizeof name));
    out->skipped = obstacle(r, &out->plan.plan);
    return true;
}

void report_row_free(report_row *row) {
    free(row->name);
    free(row->skipped);
    *row = (report_row){0};
}

void report_rows_free(report *r) {
    for (int i = 0; i < r->n_rows; i++) report_row_free(&r->rows[i]);
    free(r->rows);
    r->rows = NULL, r->n_rows = 0;
}
