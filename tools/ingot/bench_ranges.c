#include "bench_ranges.h"
#include "bench_plans.h"
#include "common/lists.h"
#include <string.h>

bool bench_range_read(bench_range *out, const char *command, const char *name, const char *text, long min, long max, bool none) {
    const bool empty = none && !strcmp(text, "none");
    out->n = empty ? 0 : list_sizes(command, name, text, min, max, out->values, BENCH_RANGE_MOST);
    return empty || out->n > 0;
}

bool bench_threads_read(bench_range *out, const char *command, const char *text) {
    if (text) return bench_range_read(out, command, "threads", text, 1, 1024, false);
    ingot_bench_host h;
    ingot_bench_host_get(&h);
    *out = (bench_range){.n = 1, .values = {h.n_cores}};
    return true;
}

bool bench_ranges_read(bench_ranges *out, const settings *s, const char *command, const char *tokens) {
    *out = (bench_ranges){.heads = {.n = 1}};
    return bench_range_read(&out->tokens, command, tokens, s->contexts, 1, 1 << 27, false) &&
           (!s->heads || bench_range_read(&out->heads, command, "heads", s->heads, 1, 1024, false)) &&
           bench_range_read(&out->kv_heads, command, "kv-heads", s->kv_heads, 1, 1024, false) &&
           bench_range_read(&out->dims, command, "head-dim", s->head_dims, 1, INGOT_MAX_HEAD_DIM, false) && bench_threads_read(&out->threads, command, s->thread_counts);
}

/* Value i of the list, and what is left of the number. */
static int pick(const bench_range *r, int *i) {
    const int value = r->values[*i % r->n];
    *i /= r->n;
    return value;
}

static int run_points(const bench_ranges *r, bench_sheet *b, ingot_device *device, bench_point_fn run, void *user) {
    int code = CLI_DONE;
    const int n = r->tokens.n * r->dims.n * r->kv_heads.n * r->heads.n;
    for (int i = 0; !code && !b->stopped && i < n; i++) {
        int rest = i;
        bench_point p = {.n_tokens = pick(&r->tokens, &rest)};
        p.head_dim = pick(&r->dims, &rest);
        p.n_kv_heads = pick(&r->kv_heads, &rest);
        p.n_heads = pick(&r->heads, &rest);
        if (!p.n_heads) p.n_heads = p.n_kv_heads;
        code = run(b, device, &p, user);
    }
    return code;
}

int bench_ranges_run(const bench_ranges *r, bench_sheet *b, bench_point_fn run, void *user) {
    int code = CLI_DONE;
    for (int i = 0; !code && !b->stopped && i < r->threads.n; i++) {
        ingot_device *device = NULL;
        code = bench_device(&device, b->s, r->threads.values[i]);
        if (!code) code = run_points(r, b, device, run, user);
        ingot_device_close(device);
    }
    return code;
}

int bench_plans_run(const settings *s, const bench_table *t, bench_point_fn run) {
    static bench_ranges r;
    bench_plans plans = {0};
    bench_sheet b = {0};
    if (!bench_ranges_read(&r, s, t->command, t->tokens)) return CLI_WRONG_USE;
    int code = bench_plans_read(&plans, s, t->usual) && bench_plans_alone(&plans) ? CLI_DONE : CLI_WRONG_USE;
    if (!code) code = bench_sheet_open(&b, s, t->command, t->columns, t->n_columns);
    if (!code) code = bench_ranges_run(&r, &b, run, &plans);
    bench_plans_free(&plans);
    return bench_sheet_close(&b, code);
}
