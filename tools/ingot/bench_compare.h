/* Two plans against each other: what both forms of the comparison share. */
#ifndef TOOLS_INGOT_BENCH_COMPARE_H
#define TOOLS_INGOT_BENCH_COMPARE_H
#include "bench_plans.h"
#include "bench_sheet.h"

typedef struct bench_pair {
    const char *names[2];
    ingot_plan plans[4]; /* A, A, B, B */
} bench_pair;

/* Puts floor, gain and verdict into a row. */
void bench_put_verdict(json_t *row, const ingot_bench_verdict *v);
/* compare -m: bench_compare_model.c. An exit code. */
int bench_compare_model(const settings *s, const bench_pair *pair);
/* Attention with plans A, A, B, B: rows[4]. An exit code; a plan that cannot be measured fails. */
int bench_compare_attn_rows(bench_sheet *b, ingot_bench_attn_row rows[4], ingot_device *device, const ingot_bench_attn_config *c, const bench_pair *pair);
#endif
