/* ingot bench attn. */
#include "bench_plans.h"
#include "bench_sheet.h"
#include "common/lists.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 64 };

static const bench_column columns[] = {
    {"method", "method", -20, 0, 0}, {"n_tokens", "tokens", 7, 0, 0}, {"n_queries", "query", 5, 0, 0}, {"n_heads", "heads", 5, 0, 0}, {"n_kv_heads", "kv", 3, 0, 0},
    {"head_dim", "dim", 3, 0, 0}, {"threads", "thr", 3, 0, 0}, {"median_us", "median us", 10, 1, 0}, {"noise_pct", "noise %", 7, 1, 0}, {"best_us", "best us", 10, 1, 0},
    {"bytes", "MiB", 8, 2, 1.0 / 1048576}, {"gb_s", "GB/s", 6, 2, 0}, {"copy_gb_s", "read", 6, 2, 0}, {"share", "share", 5, 2, 0}, {"vs_read", "vs read", 7, 2, 0},
    {"vs_kernel", "vs kern", 7, 3, 0}, {"error", "error", 8, -1, 0}, {"checksum", "checksum", 10, 4, 0},
};

/* Lists of the options; every combination is one group of rows. */
typedef struct ranges {
    int ctx[MOST], heads[MOST], kv_heads[MOST], dims[MOST], threads[MOST];
    int n_ctx, n_heads, n_kv_heads, n_dims, n_threads;
} ranges;

static bool read_ranges(ranges *r, const settings *s, const char *command) {
    r->n_ctx = list_sizes(command, "ctx", s->contexts, 1, 1 << 27, r->ctx, MOST);
    if (r->n_ctx > 0) r->n_heads = list_integers(command, "heads", s->heads, 1, 1024, r->heads, MOST);
    if (r->n_ctx > 0 && r->n_heads > 0) r->n_kv_heads = list_integers(command, "kv-heads", s->kv_heads, 1, 1024, r->kv_heads, MOST);
    if (r->n_ctx > 0 && r->n_heads > 0 && r->n_kv_heads > 0) r->n_dims = list_integers(command, "head-dim", s->head_dims, 1, INGOT_MAX_HEAD_DIM, r->dims, MOST);
    if (r->n_ctx > 0 && r->n_heads > 0 && r->n_kv_heads > 0 && r->n_dims > 0) r->n_threads = list_integers(command, "threads", s->thread_counts, 1, 1024, r->threads, MOST);
    return r->n_ctx > 0 && r->n_heads > 0 && r->n_kv_heads > 0 && r->n_dims > 0 && r->n_threads > 0;
}

static json_t *row_json(const ingot_bench_attn_config *c, const char *name, const ingot_plan *plan, int threads, const ingot_bench_attn_row *r) {
    char text[INGOT_PLAN_TEXT_BYTES];
    const double bytes = (double)(r->packed_bytes + r->exact_bytes);
    json_t *o = json_object();
    json_put(o, "method", json_text(name));
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

/* One geometry and context on one device: all plans by turns. */
static int run_group(bench_sheet *b, ingot_device *device, const bench_plans *plans, const ingot_bench_attn_config *c) {
    ingot_bench_attn_row *rows = cli_realloc(NULL, (size_t)plans->n, sizeof *rows);
    int code = bench_sheet_status(b, ingot_bench_attn(rows, device, c, plans->plans, plans->n));
    for (int i = 0; !code && i < plans->n; i++) {
        if (rows[i].status != INGOT_OK) code = cli_fail("%s: %s", plans->names[i], rows[i].message);
        else if (rows[i].op.n) bench_sheet_add(b, row_json(c, plans->names[i], &plans->plans[i], ingot_device_threads(device), &rows[i]));
    }
    ingot_bench_attn_rows_free(rows, plans->n);
    free(rows);
    return code;
}

static int run_shapes(bench_sheet *b, const ranges *r, ingot_device *device, const bench_plans *plans) {
    int code = CLI_DONE;
    for (int i = 0; !code && !b->interrupted && i < r->n_heads * r->n_kv_heads * r->n_dims * r->n_ctx; i++) {
        const int ctx = i % r->n_ctx, dim = i / r->n_ctx % r->n_dims, kv = i / r->n_ctx / r->n_dims % r->n_kv_heads, heads = i / r->n_ctx / r->n_dims / r->n_kv_heads;
        const ingot_bench_attn_config c = {.protocol = bench_protocol(b), .n_tokens = r->ctx[ctx], .n_queries = b->s->n_prefill, .n_heads = r->heads[heads],
                                           .n_kv_heads = r->kv_heads[kv], .head_dim = r->dims[dim], .kernel = b->s->kernel};
        code = run_group(b, device, plans, &c);
    }
    return code;
}

static int run_attn(const settings *s) {
    static ranges r;
    bench_plans plans = {0};
    bench_sheet b = {0};
    if (!read_ranges(&r, s, "bench attn")) return CLI_WRONG_USE;
    int code = bench_plans_read(&plans, s, "f16,q8_0,int4") ? CLI_DONE : CLI_WRONG_USE;
    if (!code) code = bench_sheet_open(&b, s, "bench attn", columns, sizeof columns / sizeof *columns);
    for (int i = 0; !code && !b.interrupted && i < r.n_threads; i++) {
        ingot_device *device = NULL;
        code = bench_device(&device, s, r.threads[i]);
        if (!code) code = run_shapes(&b, &r, device, &plans);
        ingot_device_close(device);
    }
    bench_plans_free(&plans);
    return bench_sheet_close(&b, code);
}

static void defaults(settings *s) {
    s->contexts = "4K,32K";
    s->heads = "32", s->kv_heads = "8", s->head_dims = "128", s->thread_counts = "1";
    s->n_prefill = 1;
    s->min_time = 1;
    s->kv_window = 128, s->kv_sinks = 4;
}

static const option_group *const groups[] = {&settings_bench_cache, &settings_bench_attn, &settings_bench_machine, &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_attn = {
    .name = "bench attn", .summary = "One attention operation over a cache, beside a plain read of its bytes", .synopsis = "[--kv LIST] [--ctx LIST] [options]",
    .details = "Stores the new token and attends, as one layer does in a step, over pages, exact window, sinks and a ragged end. 'share' is that of the read bandwidth measured "
               "in the same rounds, 'vs read' the median ratio of times, 'error' the distance from exact attention before anything was stored.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_attn,
};
