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

int list_integers(const char *command, const char *option, const char *text, long min, long max, int *out, int cap) {
    char item[32];
    int n = 0;
    for (const char *word; (word = list_next(&text, item, sizeof item));) {
        char *end;
        errno = 0;
        const long value = strtol(word, &end, 10);
        if (end == word || *end || errno || value < min || value > max || *word == ' ') {
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
