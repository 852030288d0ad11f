#include "lists.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *list_next(const char **rest, char *buf, size_t cap) {
    if (!*rest) return NULL;
    const size_t n = strcspn(*rest, ",");
    snprintf(buf, cap, "%.*s", (int)n, *rest);
    *rest = (*rest)[n] ? *rest + n + 1 : NULL;
    return buf;
}

/* A whole number; with `units` also 16K and 2M, of 1024. False when it is none. */
static bool parse(const char *word, bool units, long *out) {
    char *end;
    errno = 0;
    *out = strtol(word, &end, 10);
    if (end == word || errno || *word == ' ') return false;
    const long unit = !units || !*end ? 1 : *end == 'K' || *end == 'k' ? 1024 : *end == 'M' || *end == 'm' ? 1024 * 1024 : 0;
    if (unit == 1) return !*end;
    return unit && !end[1] && !__builtin_mul_overflow(*out, unit, out);
}

static int read_list(const char *command, const char *option, const char *text, bool units, long min, long max, int *out, int cap) {
    char item[32];
    int n = 0;
    for (const char *word; (word = list_next(&text, item, sizeof item));) {
        long value;
        if (!parse(word, units, &value) || value < min || value > max) {
            cli_wrong_use(command, "--%s: '%s' is not a whole number from %ld to %ld", option, word, min, max);
            return -1;
        }
        if (n == cap) {
            cli_wrong_use(command, "--%s: more than %d numbers", option, cap);
            return -1;
        }
        out[n++] = (int)value;
    }
    return n;
}

int list_integers(const char *command, const char *option, const char *text, long min, long max, int *out, int cap) {
    return read_list(command, option, text, false, min, max, out, cap);
}

int list_sizes(const char *command, const char *option, const char *text, long min, long max, int *out, int cap) {
    return read_list(command, option, text, true, min, max, out, cap);
}
