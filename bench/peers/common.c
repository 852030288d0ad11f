#include "common.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void peer_die(const char *what, const char *value) {
    fprintf(stderr, "%s%s%s\n", what, value ? " " : "", value ? value : "");
    exit(1);
}

static clockid_t counted = CLOCK_MONOTONIC;

void peer_clock(const char *name) {
    if (!strcmp(name, "cpu")) counted = CLOCK_PROCESS_CPUTIME_ID;
    else if (strcmp(name, "wall")) peer_die("no such clock:", name);
}

double peer_now(void) {
    struct timespec t;
    clock_gettime(counted, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum ggml_type peer_type(const char *name) {
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const char *known = ggml_type_name((enum ggml_type)i);
        if (known && !strcmp(name, known)) return (enum ggml_type)i;
    }
    peer_die("the peer has no type named", name);
}

long peer_number(const char *option, const char *text, long least, long most) {
    char *end;
    const long v = strtol(text, &end, 10);
    if (*end || end == text || v < least || v > most) {
        fprintf(stderr, "%s %s: between %ld and %ld\n", option, text, least, most);
        exit(2);
    }
    return v;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void peer_sort(double *x, size_t n) { qsort(x, n, sizeof *x, by_value); }
