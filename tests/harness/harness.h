/* What the runner's own files share. */
#ifndef INGOT_TEST_HARNESS_H
#define INGOT_TEST_HARNESS_H
#include "test.h"
#include <stdatomic.h>

/* The state of the running test. It lies in memory shared with the child process, so that it outlives a crash. */
typedef struct test_state {
    atomic_int checks, failures, skipped, finished;
    char case_name[256], reason[256];
} test_state;

typedef struct test_entry {
    const char *name, *file;
    test_fn fn;
} test_entry;

extern test_state *test_now;

/* Runs one test, in a child process unless `in_process`; `why` gets the reason when it ended badly on its own. */
void test_execute(const test_entry *test, bool in_process, int timeout_s, char *why, size_t cap);
#endif
