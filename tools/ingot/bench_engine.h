/* A model with engines of several plans, for the benchmarks that run whole models. */
#ifndef TOOLS_INGOT_BENCH_ENGINE_H
#define TOOLS_INGOT_BENCH_ENGINE_H
#include "bench_ranges.h"
#include "common/setup.h"

typedef struct bench_engine {
    setup u;
    ingot_bench_model *bench; /* NULL when it was interrupted before it was ready */
} bench_engine;

/* Opens the model on n_threads with caches of n_ctx tokens, and says in the sheet which it is. An exit code; close in any case. */
int bench_engine_open(bench_engine *e, bench_sheet *b, const char *command, const ingot_plan *plans, int n_plans, int n_ctx, int n_threads);
void bench_engine_close(bench_engine *e);
/* Depths in ascending order, as they are filled. False after printing one line. */
bool bench_depths_read(bench_range *out, const char *command, const char *name, const char *text, bool none);
#endif
