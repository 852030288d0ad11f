/* ingot bench: one file per measurement, one line in benches.def. */
#include "command.h"

#define BENCH(c) extern const command c;
#include "benches.def"
#undef BENCH

static const command *const measurements[] = {
#define BENCH(c) &c,
#include "benches.def"
#undef BENCH
    NULL,
};

static const option_group *const groups[] = {NULL};

const command command_bench = {
    .name = "bench", .summary = "Measure speed: attention, storing, models, memory", .synopsis = "WORD [options]",
    .details = "What is compared runs by turns in one process, on data that no cache of the processor holds; the noise and the memory's own bandwidth stand beside every "
               "figure. docs/benchmarks.md says how to read them.",
    .groups = groups, .subcommands = measurements,
};
