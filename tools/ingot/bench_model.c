/* ingot bench model. */
#include "bench_engine.h"
#include "bench_plans.h"
#include <stdlib.h>

static const bench_column columns[] = {
    {"method", "method", -28, 0, 0}, {"attn", "attn", -7, 0, 0}, {"test", "test", -7, 0, 0}, {"n_tokens", "tokens", 6, 0, 0}, {"depth", "depth", 6, 0, 0}, {"threads", "thr", 3, 0, 0},
    {"tokens_per_second", "tokens/s", 9, 2, 0}, {"noise_pct", "noise %", 7, 1, 0}, {"best_tokens_per_second", "best", 9, 2, 0}, {"vs_first", "vs first", 8, 3, 0},
    {"context_share", "context", 7, 2, 0}, {"kv_bytes", "KV MiB", 8, 2, 1.0 / 1048576},
};

typedef struct job {
    const settings *s;
    bench_sheet sheet;
    bench_plans plans;
    bench_engine engine;
    bench_range prompts, depths, threads;
    int n_ctx;
} job;

static bool read_options(job *j) {
    const settings *s = j->s;
    const char *name = "bench model";
    if (!bench_range_read(&j->prompts, name, "prefill", s->prompts, 1, 1 << 24, true) || !bench_depths_read(&j->depths, name, "depths", s->contexts, true) ||
        !bench_threads_read(&j->threads, name, s->thread_counts))
        return false;
    for (int i = 0; i < j->prompts.n; i++)
        if (j->prompts.values[i] > j->n_ctx) j->n_ctx = j->prompts.values[i];
    if (j->depths.n && j->depths.values[j->depths.n - 1] + s->n_gen > j->n_ctx) j->n_ctx = j->depths.values[j->depths.n - 1] + s->n_gen;
    return true;
}

static int add_rows(job *j, const ingot_bench_model_row *rows, bool decode, int n_tokens, int depth) {
    for (int i = 0; i < j->plans.n; i++) {
        const ingot_bench_model_row *r = &rows[i];
        if (r->status != INGOT_OK) return cli_fail("%s: %s", j->plans.names[i], r->message);
        if (!r->token.n) continue;
        json_t *o = json_object();
        json_put(o, "method", json_text(j->plans.names[i]));
        json_put(o, "attn", json_text(bench_plan_attn(&j->plans.plans[i])));
        json_put(o, "test", json_text(decode ? "decode" : "prefill"));
        json_put(o, "n_tokens", json_integer(n_tokens));
        json_put(o, "depth", json_integer(depth));
        json_put(o, "threads", json_integer(ingot_device_threads(j->engine.u.device)));
        json_put(o, "tokens_per_second", json_number(1e6 / r->token.sum.median));
        json_put(o, "best_tokens_per_second", json_number(1e6 / r->token.sum.least));
        json_put(o, "vs_first", json_number(rows[0].token.sum.median / r->token.sum.median));
        bench_put_times(o, "", &r->token);
        json_put(o, "context_share", r->shallow.n ? json_number(1 - r->shallow.sum.median / r->token.sum.median) : json_null());
        json_put(o, "kv_bytes", decode ? json_integer((json_int_t)r->memory.resident_bytes) : json_null());
        json_put(o, "reps", json_integer(r->token.n));
        bench_sheet_add(&j->sheet, o);
    }
    return CLI_DONE;
}

static int measure(job *j) {
    ingot_bench_model_row *rows = cli_realloc(NULL, (size_t)j->plans.n, sizeof *rows);
    int code = CLI_DONE;
    for (int i = 0; !code && !j->sheet.stopped && i < j->prompts.n + j->depths.n; i++) {
        const bool decode = i >= j->prompts.n;
        const int n = decode ? j->s->n_gen : j->prompts.values[i], depth = decode ? j->depths.values[i - j->prompts.n] : 0;
        code = bench_sheet_status(&j->sheet, decode ? ingot_bench_model_decode(rows, j->engine.bench, depth, n) : ingot_bench_model_prefill(rows, j->engine.bench, n));
        if (!code) code = add_rows(j, rows, decode, n, depth);
        ingot_bench_model_rows_free(rows, j->plans.n);
    }
    free(rows);
    return code;
}

/* The model on so many threads. */
static int run_threads(job *j, int n_threads) {
    int code = bench_engine_open(&j->engine, &j->sheet, "bench model", j->plans.plans, j->plans.n, j->n_ctx, n_threads);
    if (!code) code = measure(j);
    bench_engine_close(&j->engine);
    return code;
}

static int run_model(const settings *s) {
    static job j;
    j = (job){.s = s};
    if (!s->model || !*s->model) return cli_wrong_use("bench model", "no model: give -m FILE");
    if (!read_options(&j)) return CLI_WRONG_USE;
    int code = bench_plans_read(&j.plans, s, "f16,q8_0,int4") ? CLI_DONE : CLI_WRONG_USE;
    if (!code) code = bench_sheet_open(&j.sheet, s, "bench model", columns, sizeof columns / sizeof *columns);
    for (int i = 0; !code && !j.sheet.stopped && i < j.threads.n; i++) code = run_threads(&j, j.threads.values[i]);
    bench_plans_free(&j.plans);
    return bench_sheet_close(&j.sheet, code);
}

static void defaults(settings *s) {
    s->prompts = "512";
    s->contexts = "0,4K";
    s->n_gen = 16;
    s->min_time = 2;
}

static const option_group *const groups[] = {&settings_model, &settings_bench_cache, &settings_bench_exact, &settings_bench_precision, &settings_bench_plan, &settings_bench_model, &settings_passes, &settings_bench_machine,
                                             &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_model = {
    .name = "bench model", .summary = "A whole model: reading prompts, and decoding behind contexts that were really read", .synopsis = "-m MODEL [--kv LIST] [options]",
    .details = "Plans run by turns, each with a cache of its own. 'vs first' compares speed with the first plan; 'context' is the share of a token's time that the context costs. Without --threads: one per core.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_model,
};
