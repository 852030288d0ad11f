#include "command.h"

static const option_group *const groups[] = {NULL};

static int run_help(const settings *s) {
    if (!s->positional.n) {
        command_print_overview(stdout);
        return CLI_DONE;
    }
    const command *c = command_find(s->positional.items[0]);
    if (!c) return cli_wrong_use("", "unknown command '%s'", s->positional.items[0]);
    if (s->positional.n > 1) {
        const char *word = s->positional.items[1];
        if (!c->subcommands) return cli_wrong_use("help", "unexpected argument '%s'", word);
        const command *sub = command_find_sub(c, word);
        if (!sub) return command_refuse_sub(c, word);
        c = sub;
    }
    command_print_help(stdout, c);
    return CLI_DONE;
}

const command command_help = {
    .name = "help", .summary = "Show this overview, or the options of a command", .synopsis = "[COMMAND [WORD]]", .groups = groups, .max_positional = 2, .run = run_help,
};
