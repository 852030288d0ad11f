#include "command.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND(c) extern const command c;
#include "commands.def"
#undef COMMAND

static const command *const commands[] = {
#define COMMAND(c) &c,
#include "commands.def"
#undef COMMAND
};

const command *command_at(int i) { return i >= 0 && i < (int)(sizeof commands / sizeof *commands) ? commands[i] : NULL; }

const command *command_find(const char *name) {
    for (int i = 0; command_at(i); i++)
        if (!strcmp(command_at(i)->name, name)) return command_at(i);
    return NULL;
}

static const char *last_word(const command *c) {
    const char *space = strrchr(c->name, ' ');
    return space ? space + 1 : c->name;
}

const command *command_find_sub(const command *c, const char *word) {
    for (const command *const *sub = c->subcommands; *sub; sub++)
        if (!strcmp(last_word(*sub), word)) return *sub;
    return NULL;
}

int command_refuse_sub(const command *c, const char *word) {
    char list[256] = "";
    size_t n = 0;
    for (const command *const *sub = c->subcommands; *sub && n < sizeof list; sub++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", last_word(*sub));
    if (word) return cli_wrong_use(c->name, "%s: '%s' is none of %s", c->name, word, list);
    return cli_wrong_use(c->name, "%s: say what: %s", c->name, list);
}

void command_print_overview(FILE *f) {
    fprintf(f, "Runs language models with a compressed key/value cache, and measures what that costs and gains.\n\nUsage: ingot COMMAND [options]\n\nCommands:\n");
    for (int i = 0; command_at(i); i++) fprintf(f, "  %-10s %s\n", command_at(i)->name, command_at(i)->summary);
    fprintf(f, "\n'ingot COMMAND --help' lists the options of a command. Exit codes: 0 done, 1 failure, 2 wrong use.\n");
}

static void command_defaults(const command *c, settings *s) {
    settings_defaults(s);
    if (c->defaults) c->defaults(s);
}

void command_print_help(FILE *f, const command *c) {
    settings s;
    command_defaults(c, &s);
    fprintf(f, "Usage: ingot %s%s%s\n\n", c->name, *c->synopsis ? " " : "", c->synopsis);
    char text[1024];
    snprintf(text, sizeof text, "%s. %s", c->summary, c->details ? c->details : "");
    options_print_wrapped(f, text, 0, 0);
    for (const command *const *sub = c->subcommands; sub && *sub; sub++) {
        if (sub == c->subcommands) fputc('\n', f);
        fprintf(f, "  %-10s ", last_word(*sub));
        options_print_wrapped(f, (*sub)->summary, 13, 13);
    }
    if (c->subcommands) fprintf(f, "\n'ingot %s WORD --help' lists the options of each.\n", c->name);
    else options_print(f, c->groups, &s);
    if (c->print_more) c->print_more(f);
}

static int run(const command *c, int argc, char **argv) {
    if (c->subcommands && argc > 1 && argv[1][0] != '-') {
        const command *sub = command_find_sub(c, argv[1]);
        return sub ? run(sub, argc - 1, argv + 1) : command_refuse_sub(c, argv[1]);
    }
    if (options_want_help(argc, argv, c->groups)) {
        command_print_help(stdout, c);
        return CLI_DONE;
    }
    if (c->subcommands) return command_refuse_sub(c, NULL);
    settings s;
    command_defaults(c, &s);
    int code = options_parse(argc, argv, c->name, c->groups, &s, &s.positional);
    if (!code && s.positional.n > c->max_positional)
        code = cli_wrong_use(c->name, "unexpected argument '%s'", s.positional.items[c->max_positional]);
    for (int i = 0; !code && i < s.stop.n; i++)
        if (!*s.stop.items[i]) code = cli_wrong_use(c->name, "--stop: the text is empty");
    if (!code) code = c->run(&s);
    free(s.positional.items);
    free(s.stop.items);
    free(s.plans.items);
    return code;
}

/* Habits from other programs: --help, -h, --version in place of a command. */
static const command *find_command(const char *word) {
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return &command_help;
    if (!strcmp(word, "--version")) return &command_version;
    return command_find(word);
}

/* Room for all that is printed in pieces: it is then written at the end, where a failure still has its reason. */
static char output[1 << 18];

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), said in one line */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that grows beyond what the system allows */
    setvbuf(stdout, output, _IOFBF, sizeof output);
    if (argc < 2) {
        command_print_overview(stderr);
        return CLI_WRONG_USE;
    }
    const command *c = find_command(argv[1]);
    if (!c) return cli_wrong_use("", "unknown command '%s'", argv[1]);
    return cli_close_output(run(c, argc - 1, argv + 1));
}
