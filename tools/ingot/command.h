/* A subcommand of the program: one file, one line in commands.def. */
#ifndef TOOLS_INGOT_COMMAND_H
#define TOOLS_INGOT_COMMAND_H
#include "common/settings.h"

typedef struct command {
    const char *name, *summary;
    const char *synopsis; /* after "ingot NAME" */
    const char *details;  /* a paragraph for the help, NULL = none */
    const option_group *const *groups; /* ends with NULL */
    int max_positional;
    void (*defaults)(settings *s);  /* NULL: those of settings_defaults() */
    void (*print_more)(FILE *f);    /* more help after the options; NULL allowed */
    int (*run)(const settings *s);  /* an exit code; NULL where there are subcommands */
    /* Ends with NULL: the first argument names one, whose own name is "NAME WORD". NULL: none. */
    const struct command *const *subcommands;
} command;

const command *command_find(const char *name); /* NULL when unknown */
const command *command_at(int i);              /* NULL when out of range */
/* The subcommand of `c` that `word` names; NULL when there is none. */
const command *command_find_sub(const command *c, const char *word);
/* Prints what `c` can be asked for, after a first argument that is none of it (NULL: none was given). An exit code. */
int command_refuse_sub(const command *c, const char *word);
void command_print_help(FILE *f, const command *c);
void command_print_overview(FILE *f);
#endif
