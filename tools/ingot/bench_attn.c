/* ingot bench attn. */
#include "bench_plans.h"
#include "bench_ranges.h"
#include <math.h>
#include <stdlib.h>

static const bench_column columns[] = {
    {"method", "method", -20, 0, 0}, {"attn", "attn", -7, 0, 0}, {"n_tokens", "tokens", 7, 0, 0}, {"n_queries", "query", 5, 0, 0}, {"n_heads", "heads", 5, 0, 0}, {"n_kv_heads", "kv", 3, 0, 0},
    {"head_dim", "dim", 3, 0, 0}, {"threads", "thr", 3, 0, 0}, {"median_us", "median us", 10, 1, 0}, {"noise_pct", "noise %", 7, 1, 0}, {"best_us", "best us", 10, 1, 0},
    {"bytes", "MiB", 8, 2, 1.0 / 1048576}, {"gb_s", "GB/s", 6, 2, 0}, {"copy_gb_s", "read", 6, 2, 0}, {"share", "share", 5, 2, 0}, {"vs_read", "vs read", 7, 2, 0},
    {"vs_kernel", "vs kern", 7, 3, 0}, {"error", "error", 8, -1, 0}, {"checksum", "checksum", 10, 4, 0},
};

static json_t *row_json(const ingot_bench_attn_config *c, const char *name, const ingot_plan *plan, int threads, const ingot_bench_attn_row *r) {
    char text[INGOT_PLAN_TEXT_BYTES];
    const double bytes = (double)(r->packed_bytes + r->exact_bytes);
    json_t *o = json_object();
    json_put(o, "method", json_text(name));
    json_put(o, "attn", json_text(bench_plan_attn(plan)));
    json_put(o, "n_tokens", json_integer(c->n_tokens));
    json_put(o, "n_heads", json_integer(c->n_heads));
    json_put(o, "n_kv_heads", json_integer(c->n_kv_heads));
    json_put(o, "head_dim", json_integer(c->head_dim));
    json_put(o, "threads", json_integer(threads));
    bench_put_times(o, "", &r->op);
    json_put(o, "bytes", json_number(bytes));
    json_put(o, "gb_s", json_number(1e-3 * bytes / r->op.sum.median));
    json_put(o, "copy_gb_s", json_number(1e-3 * bytes / r->read.sum.median));
    json_put(o, "share", json_number(r->read.sum.median / r->op.sum.median));
    json_put(o, "vs_read", json_number(r->vs_read.median));
    json_put(o, "vs_read_noise_pct", json_number(r->vs_read.noise_pct));
    bench_put_times(o, "read", &r->read);
    bench_put_times(o, "kernel", &r->kernel);
    json_put(o, "vs_kernel", json_number(r->kernel.n ? r->vs_kernel.median : NAN));
    json_put(o, "n_queries", json_integer(c->n_queries));
    json_put(o, "attended", json_integer(c->n_tokens + INGOT_BENCH_RAGGED));
    json_put(o, "packed_bytes", json_integer((json_int_t)r->packed_bytes));
    json_put(o, "exact_bytes", json_integer((json_int_t)r->exact_bytes));
    json_put(o, "bits_per_element", json_number(bench_plan_bits(plan, c->head_dim)));
    json_put(o, "plan", json_text(ingot_plan_print(plan, text, sizeof text)));
    json_put(o, "reps", json_integer(r->op.n));
    json_put(o, "copies", json_integer(r->n_copies));
    json_put(o, "error", json_number(r->error));
    json_put(o, "checksum", json_number(r->checksum));
    return o;
}

/* One geometry and context: all plans by turns. */
static int run_point(bench_sheet *b, ingot_device *device, const bench_point *p, void *user) {
    const bench_plans *plans = user;
    const ingot_bench_attn_config c = {.protocol = bench_protocol(b), .n_tokens = p->n_tokens, .n_queries = b->s->n_prefill, .n_heads = p->n_heads,
                                       .n_kv_heads = p->n_kv_heads, .head_dim = p->head_dim, .kernel = b->s->kernel};
    ingot_bench_attn_row *rows = cli_realloc(NULL, (size_t)plans->n, sizeof *rows);
    int code = bench_sheet_status(b, ingot_bench_attn(rows, device, &c, plans->plans, plans->n));
    for (int i = 0; !code && i < plans->n; i++) {
        if (rows[i].status != INGOT_OK) code = cli_fail("%s: %s", plans->names[i], rows[i].message);
        else if (rows[i].op.n) bench_sheet_add(b, row_json(&c, plans->names[i], &plans->plans[i], ingot_device_threads(device), &rows[i]));
    }
    ingot_bench_attn_rows_free(rows, plans->n);
    free(rows);
    return code;
}

static int run_attn(const settings *s) {
    static const bench_table table = {"bench attn", "ctx", "f16,q8_0,int4", columns, sizeof columns / sizeof *columns};
    return bench_plans_run(s, &table, run_point);
}

static void defaults(settings *s) {
    s->contexts = "4K,32K";
    s->heads = "32", s->kv_heads = "8", s->head_dims = "128", s->thread_counts = "1";
    s->n_prefill = 1;
    s->min_time = 1;
    s->kv_window = BENCH_WINDOW, s->kv_sinks = BENCH_SINKS;
}

static const option_group *const groups[] = {&settings_bench_cache, &settings_bench_exact, &settings_bench_precision, &settings_bench_attn, &settings_bench_kernel, &settings_bench_machine, &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_attn = {
    .name = "bench attn", .summary = "One attention operation over a cache, beside a plain read of its bytes", .synopsis = "[--kv LIST] [--ctx LIST] [options]",
    .details = "Stores the new token and attends, as one layer does in a step, over pages, exact window, sinks and a ragged end. 'share' is that of the read bandwidth measured "
               "in the same rounds, 'vs read' the median ratio of times, 'error' the distance from exact attention before anything was stored.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_attn,
};
