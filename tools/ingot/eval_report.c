/* ingot eval report. */
#include "common/lists.h"
#include "common/system.h"
#include "report.h"
#include <limits.h>
#include <string.h>

static int read_options(report *r, const settings *s) {
    int exact[2];
    if (!s->output || !*s->output) return cli_wrong_use("eval report", "no folder for the report: give -o DIR");
    r->n_contexts = list_integers("eval report", "ctx", s->contexts, 2, INT_MAX, r->contexts, 16);
    if (r->n_contexts < 0) return CLI_WRONG_USE;
    const int n = list_integers("eval report", "exact", s->exact, 0, 65536, exact, 2);
    if (n < 0) return CLI_WRONG_USE;
    if (n != 2) return cli_wrong_use("eval report", "--exact: '%s' is not two numbers, such as 128,4", s->exact);
    r->window = exact[0], r->sinks = exact[1];
    r->n_budgets = s->budgets ? list_integers("eval report", "budgets", s->budgets, 1, 1 << 24, r->budgets, 32) : 0;
    if (r->n_budgets < 0) return CLI_WRONG_USE;
    const bool no_recall = !strcmp(s->tasks, "none");
    settings recall = *s;
    if (no_recall) recall.tasks = "all";
    if (!recall_read(&r->recall, &recall, "eval report")) return CLI_WRONG_USE;
    if (no_recall) r->recall.config.tasks = 0;
    return CLI_DONE;
}

/* A calibration that is there is used; without one the plans that need it are left out. */
static int open_calibration(report *r) {
    setup *u = &r->job.u;
    const char *path = u->calibration ? u->calibration_path : setup_calibration_path(u, r->s);
    uint8_t model[16];
    if (!path) return CLI_DONE;
    const int code = u->calibration ? CLI_DONE : setup_open_calibration(u, path);
    if (code) return code;
    if (ingot_model_fingerprint(u->model, model) != INGOT_OK) return cli_fail_status(INGOT_E_INVALID);
    if (memcmp(model, ingot_calibration_fingerprint(u->calibration), sizeof model)) return cli_fail("%s is the calibration of another model", path);
    return CLI_DONE;
}

/* Before anything is computed: the longest context must have its windows. */
static int check_text(const report *r) {
    const size_t windows = r->s->n_windows ? (size_t)r->s->n_windows : 1;
    for (int i = 0; i < r->n_contexts; i++)
        if (windows * (size_t)r->contexts[i] > r->job.n_ids)
            return cli_fail("the text has %zu tokens, %zu are needed for %zu window%s of %d tokens", r->job.n_ids, windows * (size_t)r->contexts[i], windows,
                            windows == 1 ? "" : "s", r->contexts[i]);
    return CLI_DONE;
}

static int run_report(const settings *s) {
    static report r;
    r = (report){.s = s};
    int code = read_options(&r, s);
    if (!code) code = eval_open(&r.job, s, "eval report", true);
    if (!code) code = check_text(&r);
    if (!code) code = open_calibration(&r);
    if (!code) code = report_rows_make(&r);
    if (!code) code = report_open(&r);
    if (!code) {
        r.job.u.progress = progress_start(s->quiet);
        code = report_measure(&r);
    }
    if (!code && s->json) code = json_print(json_incref(r.doc));
    else if (!code && !s->quiet) fprintf(stderr, "%s/REPORT.md and %s/report.json\n", s->output, s->output);
    json_decref(r.doc);
    report_rows_free(&r);
    eval_close(&r.job);
    return code;
}

static void defaults(settings *s) {
    recall_defaults(s);
    s->contexts = "1024";
    s->tasks = "copy,needles";
    s->methods = "all";
    s->exact = "128,4";
    s->n_windows = 2;
    s->speed_depth = 1024;
    s->n_together = 6;
}

static const option_group *const groups[] = {&settings_model, &settings_text, &settings_report, &settings_contexts, &settings_recall, &settings_stream, &settings_cache,
                                             &settings_compute, &settings_passes, &settings_json, &settings_quiet, NULL};

const command eval_report = {
    .name = "eval report", .summary = "Everything about many plans, as a table and as JSON", .synopsis = "-m MODEL -f TEXT -o DIR [options]",
    .details = "Measures divergence, perplexity, memory, decode speed and recall of methods and compositions. What is finished is written at once; Ctrl-C loses only what runs, and "
               "the same command goes on where it stopped. The options of the cache say what the policies of --budgets store.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_report,
};
