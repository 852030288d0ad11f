/* ingot bench append. */
#include "bench_plans.h"
#include "bench_ranges.h"
#include <stdlib.h>

static const bench_column columns[] = {
    {"method", "method", -20, 0, 0}, {"n_tokens", "tokens", 6, 0, 0}, {"n_kv_heads", "kv", 3, 0, 0}, {"head_dim", "dim", 3, 0, 0}, {"threads", "thr", 3, 0, 0},
    {"median_us", "median us", 10, 2, 0}, {"noise_pct", "noise %", 7, 1, 0}, {"mean_us", "mean us", 10, 2, 0}, {"bytes_in", "KiB in", 8, 1, 1.0 / 1024},
    {"bytes_out", "KiB out", 8, 1, 1.0 / 1024}, {"gb_s", "GB/s", 6, 2, 0}, {"copy_gb_s", "copy", 6, 2, 0}, {"share", "share", 5, 2, 0}, {"checksum", "checksum", 16, 0, 0},
};

static json_t *row_json(const ingot_bench_append_config *c, const char *name, int threads, const ingot_bench_append_row *r) {
    char sum[24];
    const double gb_s = 1e-3 * (r->bytes_in + r->bytes_out) / r->mean_us;
    json_t *o = json_object();
    json_put(o, "method", json_text(name));
    json_put(o, "n_tokens", json_integer(c->n_tokens));
    json_put(o, "n_kv_heads", json_integer(c->n_kv_heads));
    json_put(o, "head_dim", json_integer(c->head_dim));
    json_put(o, "threads", json_integer(threads));
    bench_put_times(o, "", &r->op);
    json_put(o, "mean_us", json_number(r->mean_us));
    json_put(o, "bytes_in", json_number(r->bytes_in));
    json_put(o, "bytes_out", json_number(r->bytes_out));
    json_put(o, "gb_s", json_number(gb_s));
    json_put(o, "copy_gb_s", json_number(r->copy_gb_s.median));
    json_put(o, "copy_noise_pct", json_number(r->copy_gb_s.noise_pct));
    json_put(o, "share", json_number(gb_s / r->copy_gb_s.median));
    json_put(o, "reps", json_integer(r->op.n));
    json_put(o, "copies", json_integer(r->n_copies));
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)r->checksum);
    json_put(o, "checksum", json_text(sum));
    return o;
}

static int run_point(bench_sheet *b, ingot_device *device, const bench_point *p, void *user) {
    const bench_plans *plans = user;
    const ingot_bench_append_config c = {.protocol = bench_protocol(b), .n_tokens = p->n_tokens, .n_kv_heads = p->n_kv_heads, .head_dim = p->head_dim};
    ingot_bench_append_row *rows = cli_realloc(NULL, (size_t)plans->n, sizeof *rows);
    int code = bench_sheet_status(b, ingot_bench_append(rows, device, &c, plans->plans, plans->n));
    for (int i = 0; !code && i < plans->n; i++) {
        if (rows[i].status != INGOT_OK) code = cli_fail("%s: %s", plans->names[i], rows[i].message);
        else if (rows[i].op.n) bench_sheet_add(b, row_json(&c, plans->names[i], ingot_device_threads(device), &rows[i]));
    }
    ingot_bench_append_rows_free(rows, plans->n);
    free(rows);
    return code;
}

static int run_append(const settings *s) {
    static const bench_table table = {"bench append", "tokens", "f16,q8_0,int4,turboquant4,kivi4", columns, sizeof columns / sizeof *columns};
    return bench_plans_run(s, &table, run_point);
}

static void defaults(settings *s) {
    s->contexts = "1,32,2048";
    s->kv_heads = "8", s->head_dims = "128", s->thread_counts = "1";
    s->min_time = 1;
}

static const option_group *const groups[] = {&settings_bench_cache, &settings_bench_exact, &settings_bench_append, &settings_bench_machine, &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_append = {
    .name = "bench append", .summary = "Storing new keys and values, beside the bandwidth of a copy", .synopsis = "[--kv LIST] [--tokens LIST] [options]",
    .details = "What the cache does with a step's tokens in one layer: check, transform, encode, keep the newest exact; formats of blocks store a block whenever one is full. "
               "GB/s are the bytes read and written over the mean time.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_append,
};
