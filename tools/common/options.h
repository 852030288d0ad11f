/* One table per group of options: parsing and help both come from it. */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H
#include "cli.h"
#include <stdint.h>
#include <stdio.h>

typedef enum option_kind {
    OPTION_FLAG,  /* bool */
    OPTION_TEXT,  /* const char *, points into argv */
    OPTION_TEXTS, /* text_list: may be given again and again */
    OPTION_INT,   /* int */
    OPTION_INT64, /* int64_t */
    OPTION_FLOAT, /* float */
    OPTION_WORD   /* int: which of `words` */
} option_kind;

typedef struct text_list {
    const char **items;
    int n;
} text_list;

typedef struct option {
    const char *name;  /* long name without dashes */
    char letter;       /* short name, 0 = none */
    option_kind kind;
    size_t offset;     /* of the field in the settings */
    const char *value; /* what help calls the value; NULL for flags and words */
    const char *help;
    double min, max;   /* numbers */
    const char *words; /* OPTION_WORD: "cpu|ref" */
} option;

typedef struct option_group {
    const char *title;
    const option *options;
    int n;
} option_group;

/* Parses argv[1..argc) into the object `settings`, which holds the defaults. `groups` ends with NULL. Positional
 * arguments go to `positional`. `command` is named in messages. CLI_DONE, or CLI_WRONG_USE after printing one line. */
int options_parse(int argc, char **argv, const char *command, const option_group *const *groups, void *settings, text_list *positional);
/* Whether -h or --help stands among the arguments (a value that happens to be one of these does not count). */
bool options_want_help(int argc, char **argv, const option_group *const *groups);
/* All groups, with the defaults found in `settings`. */
void options_print(FILE *f, const option_group *const *groups, const void *settings);
/* Prints `text` in columns [indent, 100), the first line continuing at column `column`. */
void options_print_wrapped(FILE *f, const char *text, int column, int indent);
#endif
