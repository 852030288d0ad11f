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
    int (*run)(const settings *s);  /* an exit code */
} command;

const command *command_find(const char *name); /* NULL when unknown */
const command *command_at(int i);              /* NULL when out of range */
void command_print_help(FILE *f, const command *c);
void command_print_overview(FILE *f);
#endif
