#include "options.h"
#include <string.h>

enum { LEFT = 30, RIGHT = 100, LEFT_CAP = 80 };

void options_print_wrapped(FILE *f, const char *text, int column, int indent) {
    bool space = false; /* a space is due in front of the next word */
    while (*(text += strspn(text, " "))) {
        const int n = (int)strcspn(text, " ");
        if (space && column + 1 + n > RIGHT) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        } else if (space) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%.*s", n, text);
        column += n;
        text += n;
        space = true;
    }
    fputc('\n', f);
}

static void default_of(const option *o, const void *settings, char *buf, size_t cap) {
    const void *field = (const char *)settings + o->offset;
    buf[0] = 0;
    switch (o->kind) {
    case OPTION_FLAG:
    case OPTION_TEXTS: break;
    case OPTION_TEXT:
        if (*(const char *const *)field) snprintf(buf, cap, " (default %s)", *(const char *const *)field);
        break;
    case OPTION_INT: snprintf(buf, cap, " (default %d)", *(const int *)field); break;
    case OPTION_INT64: snprintf(buf, cap, " (default %lld)", (long long)*(const int64_t *)field); break;
    case OPTION_FLOAT: snprintf(buf, cap, " (default %.6g)", *(const float *)field); break;
    case OPTION_WORD: {
        const char *w = o->words;
        for (int i = *(const int *)field; i > 0; i--) w += strcspn(w, "|") + 1;
        snprintf(buf, cap, " (default %.*s)", (int)strcspn(w, "|"), w);
        break;
    }
    }
}

static void print_option(FILE *f, const option *o, const void *settings) {
    char left[LEFT_CAP], usual[64], right[1024];
    const char *value = o->value ? o->value : o->words;
    int n = o->letter ? snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name) : snprintf(left, sizeof left, "      --%s", o->name);
    if (value) n += snprintf(left + n, sizeof left - (size_t)n, " %s", value);
    default_of(o, settings, usual, sizeof usual);
    snprintf(right, sizeof right, "%s%s", o->help, usual);
    fputs(left, f);
    if (n + 1 > LEFT) fprintf(f, "\n%*s", LEFT, "");
    else fprintf(f, "%*s", LEFT - n, "");
    options_print_wrapped(f, right, LEFT, LEFT);
}

void options_print(FILE *f, const option_group *const *groups, const void *settings) {
    for (; *groups; groups++) {
        fprintf(f, "\n%s:\n", (*groups)->title);
        for (int i = 0; i < (*groups)->n; i++) print_option(f, &(*groups)->options[i], settings);
    }
}
