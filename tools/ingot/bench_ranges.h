/* Lists that the options of a benchmark give: every combination is measured. */
#ifndef TOOLS_INGOT_BENCH_RANGES_H
#define TOOLS_INGOT_BENCH_RANGES_H
#include "bench_sheet.h"

enum { BENCH_RANGE_MOST = 64 };
typedef struct bench_range {
    int n, values[BENCH_RANGE_MOST];
} bench_range;

/* What one group of rows is measured with. */
typedef struct bench_point {
    int n_tokens, n_heads, n_kv_heads, head_dim;
} bench_point;

typedef struct bench_ranges {
    bench_range tokens, heads, kv_heads, dims, threads;
} bench_ranges;

/* --NAME's list from `min` to `max`, with K and M; "none": no values, where `none`. False after printing one line. */
bool bench_range_read(bench_range *out, const char *command, const char *name, const char *text, long min, long max, bool none);
/* Threads: NULL is one per core. */
bool bench_threads_read(bench_range *out, const char *command, const char *text);
/* All of s; `tokens` is the name of its list of tokens; without query heads there are as many as KV heads. False after printing one line. */
bool bench_ranges_read(bench_ranges *out, const settings *s, const char *command, const char *tokens);

/* Calls run(b, device, point, user) for every combination, threads outermost, until one gives another exit code than CLI_DONE or the work was interrupted. */
typedef int (*bench_point_fn)(bench_sheet *b, ingot_device *device, const bench_point *p, void *user);
int bench_ranges_run(const bench_ranges *r, bench_sheet *b, bench_point_fn run, void *user);

/* A whole command that measures plans without a model at all points: run's `user` is a bench_plans. */
typedef struct bench_table {
    const char *command, *tokens, *usual; /* name of the list of tokens; plans when none are given */
    const bench_column *columns;
    int n_columns;
} bench_table;
int bench_plans_run(const settings *s, const bench_table *table, bench_point_fn run);
#endif
