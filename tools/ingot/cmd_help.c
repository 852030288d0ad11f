#include "command.h"

static const option_group *const groups[] = {NULL};

static int run_help(const settings *s) {
    if (!s->positional.n) {
        command_print_overview(stdout);
        return CLI_DONE;
    }
    const command *c = command_find(s->positional.items[0]);
    if (!c) return cli_wrong_use("", "unknown command '%s'", s->positional.items[0]);
    command_print_help(stdout, c);
    return CLI_DONE;
}

const command command_help = {
    .name = "help", .summary = "Show this overview, or the options of a command", .synopsis = "[COMMAND]", .groups = groups, .max_positional = 1, .run = run_help,
};
