#include "options.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const option *find_name(const option_group *const *groups, const char *name, size_t n) {
    for (; *groups; groups++)
        for (int i = 0; i < (*groups)->n; i++) {
            const option *o = &(*groups)->options[i];
            if (strlen(o->name) == n && !memcmp(o->name, name, n)) return o;
        }
    return NULL;
}

static const option *find_letter(const option_group *const *groups, char letter) {
    for (; *groups; groups++)
        for (int i = 0; i < (*groups)->n; i++)
            if ((*groups)->options[i].letter == letter) return &(*groups)->options[i];
    return NULL;
}

/* The option that `arg` names: -x, --name or --name=value (then *value is set). NULL when it names none. */
static const option *find(const option_group *const *groups, const char *arg, const char **value) {
    *value = NULL;
    if (arg[0] != '-' || !arg[1]) return NULL;
    if (arg[1] != '-') return arg[2] ? NULL : find_letter(groups, arg[1]);
    const size_t n = strcspn(arg + 2, "=");
    if (arg[2 + n]) *value = arg + 3 + n;
    return find_name(groups, arg + 2, n);
}

static bool is_help(const char *arg) { return !strcmp(arg, "-h") || !strcmp(arg, "--help"); }

/* Which of "a|b|c" `text` is; -1 = none. */
static int find_word(const char *words, const char *text) {
    int i = 0;
    for (const char *w = words;; w++, i++) {
        const size_t n = strcspn(w, "|");
        if (strlen(text) == n && !memcmp(w, text, n)) return i;
        w += n;
        if (!*w) return -1;
    }
}

static bool parse_number(const option *o, const char *text, double *out) {
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && !(*text == ' ' || *text == '\t') && *out >= o->min && *out <= o->max;
}

static bool parse_integer(const option *o, const char *text, int64_t *out) {
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    *out = n;
    return end != text && !*end && !errno && !(*text == ' ' || *text == '\t') && (double)n >= o->min && (double)n <= o->max;
}

/* Digits alone, of a number beyond the largest. */
static bool is_too_large(const option *o, const char *text) {
    const char *digits = text + (*text == '+');
    return *digits && !digits[strspn(digits, "0123456789")] && strtod(digits, NULL) > o->max;
}

static int bad_number(const char *command, const option *o, const char *text) {
    const char *what = o->kind == OPTION_FLOAT ? "number" : "whole number";
    if (is_too_large(o, text)) return cli_wrong_use(command, "--%s: '%s' is too large; at most %.10g is possible", o->name, text, o->max);
    if (o->max >= INT_MAX) return cli_wrong_use(command, "--%s: '%s' is not a %s of at least %.10g", o->name, text, what, o->min);
    return cli_wrong_use(command, "--%s: '%s' is not a %s from %.10g to %.10g", o->name, text, what, o->min, o->max);
}

static void add_text(text_list *list, const char *text) {
    list->items = cli_realloc(list->items, (size_t)list->n + 1, sizeof *list->items);
    list->items[list->n++] = text;
}

static int store(const char *command, const option *o, const char *text, void *settings) {
    void *field = (char *)settings + o->offset;
    int64_t integer;
    double number;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)field = true; break;
    case OPTION_TEXT: *(const char **)field = text; break;
    case OPTION_TEXTS: add_text(field, text); break;
    case OPTION_INT:
        if (!parse_integer(o, text, &integer)) return bad_number(command, o, text);
        *(int *)field = (int)integer;
        break;
    case OPTION_INT64:
        if (!parse_integer(o, text, &integer)) return bad_number(command, o, text);
        *(int64_t *)field = integer;
        break;
    case OPTION_FLOAT:
        if (!parse_number(o, text, &number)) return bad_number(command, o, text);
        *(float *)field = (float)number;
        break;
    case OPTION_WORD: {
        const int i = find_word(o->words, text);
        if (i < 0) return cli_wrong_use(command, "--%s: '%s' is none of %s", o->name, text, o->words);
        *(int *)field = i;
        break;
    }
    }
    return CLI_DONE;
}

/* The name that starts like `arg` or that `arg` starts with, to help after a slip; NULL when none does. */
static const char *similar(const option_group *const *groups, const char *arg) {
    const char *name = arg + strspn(arg, "-");
    const size_t n = strcspn(name, "=");
    for (; n > 1 && *groups; groups++)
        for (int i = 0; i < (*groups)->n; i++) {
            const char *other = (*groups)->options[i].name;
            const size_t m = strlen(other);
            if (m > 1 && !memcmp(other, name, m < n ? m : n)) return other;
        }
    return NULL;
}

static int unknown(const char *command, const option_group *const *groups, const char *arg) {
    const char *other = similar(groups, arg);
    if (other) return cli_wrong_use(command, "unknown option %s (did you mean --%s?)", arg, other);
    return cli_wrong_use(command, "unknown option %s", arg);
}

int options_parse(int argc, char **argv, const char *command, const option_group *const *groups, void *settings, text_list *positional) {
    bool only_positional = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *value, *ignored;
        if (!only_positional && !strcmp(arg, "--")) {
            only_positional = true;
            continue;
        }
        if (only_positional || arg[0] != '-' || !arg[1]) {
            add_text(positional, arg);
            continue;
        }
        const option *o = find(groups, arg, &value);
        if (!o) return unknown(command, groups, arg);
        if (o->kind == OPTION_FLAG && value) return cli_wrong_use(command, "--%s takes no value", o->name);
        if (o->kind != OPTION_FLAG && !value) {
            if (i + 1 == argc || find(groups, argv[i + 1], &ignored))
                return cli_wrong_use(command, "%s needs a value (%s)", arg, o->value ? o->value : o->words);
            value = argv[++i];
        }
        const int code = store(command, o, value, settings);
        if (code) return code;
    }
    return CLI_DONE;
}

bool options_want_help(int argc, char **argv, const option_group *const *groups) {
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (!strcmp(argv[i], "--")) return false;
        if (is_help(argv[i])) return true;
        const option *o = find(groups, argv[i], &value);
        if (o && o->kind != OPTION_FLAG && !value) i++;
    }
    return false;
}
