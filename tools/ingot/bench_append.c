/* ingot bench append. */
#include "bench_plans.h"
#include "bench_sheet.h"
#include "common/lists.h"
#include <stdlib.h>

enum { MOST = 64 };

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

static int run_group(bench_sheet *b, ingot_device *device, const bench_plans *plans, const ingot_bench_append_config *c) {
    ingot_bench_append_row *rows = cli_realloc(NULL, (size_t)plans->n, sizeof *rows);
    int code = bench_sheet_status(b, ingot_bench_append(rows, device, c, plans->plans, plans->n));
    for (int i = 0; !code && i < plans->n; i++) {
        if (rows[i].status != INGOT_OK) code = cli_fail("%s: %s", plans->names[i], rows[i].message);
        else if (rows[i].op.n) bench_sheet_add(b, row_json(c, plans->names[i], ingot_device_threads(device), &rows[i]));
    }
    ingot_bench_append_rows_free(rows, plans->n);
    free(rows);
    return code;
}

typedef struct ranges {
    int tokens[MOST], kv_heads[MOST], dims[MOST], threads[MOST];
    int n_tokens, n_kv_heads, n_dims, n_threads;
} ranges;

static bool read_ranges(ranges *r, const settings *s, const char *command) {
    return (r->n_tokens = list_sizes(command, "tokens", s->contexts, 1, 65536, r->tokens, MOST)) > 0 &&
           (r->n_kv_heads = list_integers(command, "kv-heads", s->kv_heads, 1, 1024, r->kv_heads, MOST)) > 0 &&
           (r->n_dims = list_integers(command, "head-dim", s->head_dims, 1, INGOT_MAX_HEAD_DIM, r->dims, MOST)) > 0 &&
           (r->n_threads = list_integers(command, "threads", s->thread_counts, 1, 1024, r->threads, MOST)) > 0;
}

static int run_shapes(bench_sheet *b, const ranges *r, ingot_device *device, const bench_plans *plans) {
    int code = CLI_DONE;
    for (int i = 0; !code && !b->interrupted && i < r->n_kv_heads * r->n_dims * r->n_tokens; i++) {
        const int tokens = i % r->n_tokens, dim = i / r->n_tokens % r->n_dims, kv = i / r->n_tokens / r->n_dims;
        const ingot_bench_append_config c = {.protocol = bench_protocol(b), .n_tokens = r->tokens[tokens], .n_kv_heads = r->kv_heads[kv], .head_dim = r->dims[dim]};
        code = run_group(b, device, plans, &c);
    }
    return code;
}

static int run_append(const settings *s) {
    ranges r;
    bench_plans plans = {0};
    bench_sheet b = {0};
    if (!read_ranges(&r, s, "bench append")) return CLI_WRONG_USE;
    int code = bench_plans_read(&plans, s, "f16,q8_0,int4,turboquant4,kivi4") ? CLI_DONE : CLI_WRONG_USE;
    if (!code) code = bench_sheet_open(&b, s, "bench append", columns, sizeof columns / sizeof *columns);
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
    s->contexts = "1,32,2048";
    s->kv_heads = "8", s->head_dims = "128", s->thread_counts = "1";
    s->min_time = 1;
}

static const option_group *const groups[] = {&settings_bench_cache, &settings_bench_append, &settings_bench_machine, &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_append = {
    .name = "bench append", .summary = "Storing new keys and values, beside the bandwidth of a copy", .synopsis = "[--kv LIST] [--tokens LIST] [options]",
    .details = "What the cache does with a step's tokens in one layer: check, transform, encode, keep the newest exact; formats of blocks store a block whenever one is full. "
               "GB/s are the bytes read and written over the mean time.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_append,
};
