/* ingot bench copy. */
#include "bench_sheet.h"
#include "common/lists.h"

enum { MOST = 64 };

static const bench_column columns[] = {
    {"threads", "threads", 7, 0, 0}, {"bytes", "MiB", 8, 0, 1.0 / 1048576}, {"read_gb_s", "read GB/s", 10, 2, 0}, {"read_noise_pct", "noise %", 7, 1, 0},
    {"read_best_gb_s", "best", 7, 2, 0}, {"copy_gb_s", "copy GB/s", 10, 2, 0}, {"copy_noise_pct", "noise %", 7, 1, 0}, {"copy_best_gb_s", "best", 7, 2, 0},
};

static int run_threads(bench_sheet *b, int n_threads) {
    ingot_device *device = NULL;
    ingot_bench_copy_result r = {0};
    int code = bench_device(&device, b->s, n_threads);
    if (code) return code;
    const ingot_bench_protocol p = bench_protocol(b);
    code = bench_sheet_status(b, ingot_bench_copy(&r, device, &p, 0));
    if (!code && r.read.n) {
        json_t *row = json_object();
        json_put(row, "threads", json_integer(n_threads));
        json_put(row, "bytes", json_number(r.n_bytes));
        json_put(row, "read_gb_s", json_number(r.read_gb_s));
        json_put(row, "read_best_gb_s", json_number(1e-3 * r.n_bytes / r.read.sum.least));
        json_put(row, "copy_gb_s", json_number(r.copy_gb_s));
        json_put(row, "copy_best_gb_s", json_number(2e-3 * r.n_bytes / r.copy.sum.least));
        bench_put_times(row, "read", &r.read);
        bench_put_times(row, "copy", &r.copy);
        json_put(row, "reps", json_integer(r.read.n));
        bench_sheet_add(b, row);
    }
    ingot_bench_copy_free(&r);
    ingot_device_close(device);
    return code;
}

static int run_copy(const settings *s) {
    int threads[MOST], n = 0;
    ingot_bench_host h;
    ingot_bench_host_get(&h);
    if (s->thread_counts) n = list_integers("bench copy", "threads", s->thread_counts, 1, 1024, threads, MOST);
    if (n < 0) return CLI_WRONG_USE;
    for (int t = 1; !s->thread_counts && t <= h.n_cores && n < MOST; t = t < h.n_cores && 2 * t > h.n_cores ? h.n_cores : 2 * t) threads[n++] = t;
    bench_sheet b = {0};
    int code = bench_sheet_open(&b, s, "bench copy", columns, sizeof columns / sizeof *columns);
    for (int i = 0; !code && !b.stopped && i < n; i++) code = run_threads(&b, threads[i]);
    return bench_sheet_close(&b, code);
}

static void defaults(settings *s) { s->min_time = 1; }

static const option_group *const groups[] = {&settings_bench_machine, &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_copy = {
    .name = "bench copy", .summary = "Bandwidth of the memory: plain reads and copies, the ceiling of everything that reads a cache", .synopsis = "[options]",
    .details = "Without --threads: 1, 2, 4 ... up to all cores. Copies count the bytes read and the bytes written.",
    .groups = groups, .defaults = defaults, .run = run_copy,
};
