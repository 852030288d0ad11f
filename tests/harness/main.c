#include "harness.h"
#include "base/cpu.h"
#include <stdlib.h>
#include <time.h>

enum { MAX_FILTERS = 32 };

typedef struct options {
    const char *only[MAX_FILTERS], *except[MAX_FILTERS];
    int n_only, n_except, timeout_s;
    bool list, no_fork;
} options;

typedef struct totals {
    int passed, failed, skipped;
} totals;

static test_entry *tests;
static size_t n_tests, cap_tests;

void test_register(const char *name, const char *file, test_fn fn) {
    if (n_tests == cap_tests) {
        cap_tests = cap_tests ? 2 * cap_tests : 256;
        tests = realloc(tests, cap_tests * sizeof *tests);
        if (!tests) abort();
    }
    tests[n_tests++] = (test_entry){name, file, fn};
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const test_entry *)a)->name, ((const test_entry *)b)->name);
}

static int usage(const char *problem, const char *value) {
    fprintf(stderr, "ingot-tests: %s%s\n", problem, value);
    fputs("usage: ingot-tests [-l] [-f SUBSTRING]... [-x SUBSTRING]... [--level LEVEL] [--levels] [--timeout SECONDS] [--no-fork]\n"
          "  -l         list the tests that would run\n"
          "  -f, -x     only / not the tests whose name contains SUBSTRING\n"
          "  --level    run on this instruction set level; --levels lists those of this machine\n"
          "  --timeout  for each test, 300 without\n"
          "  --no-fork  all in one process, for a debugger\n", stderr);
    return 2;
}

static void list_levels(void) {
    for (int i = 0; i < INGOT_N_ISAS; i++)
        if (ingot_cpu_force((ingot_isa)i)) puts(ingot_isa_name((ingot_isa)i));
}

/* 0 = go on, else 1 + exit code. */
static int parse(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "-l") == 0) { o->list = true; continue; }
        if (strcmp(a, "--no-fork") == 0) { o->no_fork = true; continue; }
        if (strcmp(a, "--levels") == 0) { list_levels(); return 1; }
        if (i + 1 == argc) return 1 + usage("unknown option or no value: ", a);
        const char *v = argv[++i];
        ingot_isa isa;
        if (strcmp(a, "-f") == 0 && o->n_only < MAX_FILTERS) {
            o->only[o->n_only++] = v;
        } else if (strcmp(a, "-x") == 0 && o->n_except < MAX_FILTERS) {
            o->except[o->n_except++] = v;
        } else if (strcmp(a, "--timeout") == 0) {
            o->timeout_s = atoi(v);
            if (o->timeout_s <= 0) return 1 + usage("not a number of seconds: ", v);
        } else if (strcmp(a, "--level") == 0) {
            if (!ingot_isa_parse(v, &isa)) return 1 + usage("not a level: ", v);
            if (!ingot_cpu_force(isa)) return 1 + usage("this machine has no ", v);
        } else {
            return 1 + usage("unknown option, or too many of it: ", a);
        }
    }
    return 0;
}

static bool selected(const options *o, const char *name) {
    for (int i = 0; i < o->n_except; i++)
        if (strstr(name, o->except[i])) return false;
    for (int i = 0; i < o->n_only; i++)
        if (strstr(name, o->only[i])) return true;
    return o->n_only == 0;
}

static void run_one(const options *o, const test_entry *test, totals *sum) {
    char why[256];
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    test_execute(test, o->no_fork, o->timeout_s, why, sizeof why);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    const double s = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);

    if (why[0]) printf("  %s%s%s\n", why, test_now->case_name[0] ? " in case " : "", test_now->case_name);
    const bool idle = !test_now->checks && !test_now->skipped && !why[0];
    if (idle) puts("  the test checked nothing");
    if (why[0] || idle || test_now->failures) {
        sum->failed++;
        printf("FAIL %s (%.2f s)\n", test->name, s);
    } else if (test_now->skipped) {
        sum->skipped++;
        printf("skip %s: %s\n", test->name, test_now->reason);
    } else {
        sum->passed++;
        printf("ok   %s (%.2f s)\n", test->name, s);
    }
    fflush(stdout);
}

int main(int argc, char **argv) {
    options o = {.timeout_s = 300};
    const int stop = parse(&o, argc, argv);
    if (stop) return stop - 1;
    qsort(tests, n_tests, sizeof *tests, by_name);
    totals sum = {0};
    for (size_t i = 0; i < n_tests; i++) {
        if (i && strcmp(tests[i].name, tests[i - 1].name) == 0) return usage("two tests have the name ", tests[i].name);
        if (!selected(&o, tests[i].name)) continue;
        if (o.list)
            puts(tests[i].name);
        else
            run_one(&o, &tests[i], &sum);
    }
    if (o.list) return 0;
    printf("%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped);
    return sum.failed || !sum.passed; /* nothing ran: no success */
}
