/* ingot eval: one file per measure or family of measures, one line in evals.def. */
#include "command.h"

#define EVAL(c) extern const command c;
#include "evals.def"
#undef EVAL

static const command *const measures[] = {
#define EVAL(c) &c,
#include "evals.def"
#undef EVAL
    NULL,
};

static const option_group *const groups[] = {NULL};

const command command_eval = {
    .name = "eval", .summary = "Measure what a cache costs: perplexity, divergence, recall, speed", .synopsis = "WORD -m MODEL [options]",
    .groups = groups, .print_more = settings_print_methods, .subcommands = measures,
};
