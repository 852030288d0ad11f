/* The plans that the options of a benchmark name. */
#ifndef TOOLS_INGOT_BENCH_PLANS_H
#define TOOLS_INGOT_BENCH_PLANS_H
#include "common/settings.h"

typedef struct bench_plans {
    int n;
    char **names;      /* [n] as they were given (twice where --attn has both words) */
    ingot_plan *plans; /* [n] */
} bench_plans;

enum { BENCH_WINDOW = 128, BENCH_SINKS = 4 }; /* the usual exact tokens where attention is measured alone */

/* The plan that s->kv and the other options of the cache name; window and sinks that s->kv names go before those of the options. False after printing why not. */
bool bench_plan_read(const settings *s, ingot_plan *out);
/* All plans of s->plans (`usual` when there are none), each with the other options of the cache. A plan ends at a comma behind which a method's name or "k=" stands.
 * False after printing why not; free in any case. */
bool bench_plans_read(bench_plans *out, const settings *s, const char *usual);
/* Whether all can be measured without a model; false after printing which cannot. */
bool bench_plans_alone(const bench_plans *p);
/* "precise" or "fast". */
const char *bench_plan_attn(const ingot_plan *plan);
void bench_plans_free(bench_plans *p);
/* Claimed bits per element, keys and values together, for heads of `dim`. */
double bench_plan_bits(const ingot_plan *plan, int dim);
#endif
