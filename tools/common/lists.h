/* Lists in the value of an option, apart by commas. */
#ifndef TOOLS_LISTS_H
#define TOOLS_LISTS_H
#include "cli.h"

/* Whole numbers from `min` to `max`; at most `cap`, and at least one. `option` is named in messages. The count, or -1 after printing one line. */
int list_integers(const char *command, const char *option, const char *text, long min, long max, int *out, int cap);
/* The same where 16K and 2M may be written for 16384 and 2097152. */
int list_sizes(const char *command, const char *option, const char *text, long min, long max, int *out, int cap);
/* The next item of *rest, copied into buf; NULL at the end. Items that are too long are cut, which no valid word is. */
const char *list_next(const char **rest, char *buf, size_t cap);
#endif
