/* The test runner: TEST registers a function; checks record failures and go on. One program runs all C tests:
 *   ingot-tests [-l] [-f SUBSTRING]... [-x SUBSTRING]... [--level LEVEL]
 * and ends with the line "N passed, N failed, N skipped". A test that did no check fails. */
#ifndef INGOT_TEST_H
#define INGOT_TEST_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (*test_fn)(void);
void test_register(const char *name, const char *file, test_fn fn);

#define TEST_CAT2(a, b) a##b
#define TEST_CAT(a, b) TEST_CAT2(a, b)
/* TEST("area/what it shows") { ... } */
#define TEST(name) TEST_AT(name, __LINE__)
#define TEST_AT(name, line)                                                                        \
    static void TEST_CAT(test_body_, line)(void);                                                  \
    __attribute__((constructor)) static void TEST_CAT(test_reg_, line)(void) {                     \
        test_register(name, __FILE__, TEST_CAT(test_body_, line));                                 \
    }                                                                                              \
    static void TEST_CAT(test_body_, line)(void)

/* Each returns whether it held, so that `if (!CHECK(p)) return;` works. */
#define CHECK(cond) test_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_OK(expr) test_check_status((int)(expr), 0, __FILE__, __LINE__, #expr)           /* ingot_status == INGOT_OK; prints the last error */
#define CHECK_STATUS(expr, want) test_check_status((int)(expr), (int)(want), __FILE__, __LINE__, #expr)
#define CHECK_INT(got, want) test_check_int((long long)(got), (long long)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) test_check_str((got), (want), __FILE__, __LINE__, #got)
#define CHECK_HAS(text, part) test_check_has((text), (part), __FILE__, __LINE__, #text)        /* substring */
#define CHECK_NEAR(got, want, tol) test_check_near((got), (want), (tol), __FILE__, __LINE__, #got)
#define CHECK_MEM(got, want, n) test_check_mem((got), (want), (n), __FILE__, __LINE__, #got)   /* bytes, EXACT */
/* Sum of squared differences over sum of squares of `want` is at most `e`. */
#define CHECK_NMSE(got, want, n, e) test_check_nmse((got), (want), (n), (e), __FILE__, __LINE__, #got)

bool test_check(bool ok, const char *file, int line, const char *what);
bool test_check_status(int got, int want, const char *file, int line, const char *what);
bool test_check_int(long long got, long long want, const char *file, int line, const char *what);
bool test_check_str(const char *got, const char *want, const char *file, int line, const char *what);
bool test_check_has(const char *text, const char *part, const char *file, int line, const char *what);
bool test_check_near(double got, double want, double tol, const char *file, int line, const char *what);
bool test_check_mem(const void *got, const void *want, size_t n, const char *file, int line, const char *what);
bool test_check_nmse(const float *got, const float *want, size_t n, double e, const char *file, int line, const char *what);

/* Names the case inside a loop; shown in front of failures until the next one or the end of the test. */
void test_case(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Marks this test as skipped, with the reason; return after it. */
void test_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Path of a file in tests/golden or tests/data ("golden/x.json"); static buffer. */
const char *test_path(const char *rel);
/* Path of a test model ("smollm2", "gemma3-270m") or NULL when it was not fetched (then test_skip). */
const char *test_model(const char *name);
#endif
