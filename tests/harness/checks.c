/* What a test calls while it runs: checks, case names, paths. */
#include "harness.h"
#include <ingot/status.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_PRINTED = 20 };

/* Counts a check. On failure prints where and what, then the caller's detail. */
static bool verdict(bool ok, const char *file, int line, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

static bool verdict(bool ok, const char *file, int line, const char *what, const char *fmt, ...) {
    test_now->checks++;
    if (ok) return true;
    const int n = ++test_now->failures;
    if (n == MAX_PRINTED + 1) printf("  ... more failures in this test are counted, not printed\n");
    if (n > MAX_PRINTED) return false;
    const char *slash = strrchr(file, '/');
    printf("  %s:%d: ", slash ? slash + 1 : file, line);
    if (test_now->case_name[0]) printf("[%s] ", test_now->case_name);
    printf("%s: ", what);
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    return false;
}

bool test_check(bool ok, const char *file, int line, const char *what) {
    return verdict(ok, file, line, what, "is false");
}

bool test_check_status(int got, int want, const char *file, int line, const char *what) {
    return verdict(got == want, file, line, what, "got \"%s\", want \"%s\" (last error: %s)",
                   ingot_status_string((ingot_status)got), ingot_status_string((ingot_status)want), ingot_last_error());
}

bool test_check_int(long long got, long long want, const char *file, int line, const char *what) {
    return verdict(got == want, file, line, what, "got %lld, want %lld", got, want);
}

bool test_check_str(const char *got, const char *want, const char *file, int line, const char *what) {
    const bool same = got && want ? strcmp(got, want) == 0 : got == want;
    return verdict(same, file, line, what, "got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
}

bool test_check_has(const char *text, const char *part, const char *file, int line, const char *what) {
    return verdict(text && strstr(text, part), file, line, what, "\"%s\" does not contain \"%s\"",
                   text ? text : "(null)", part);
}

bool test_check_near(double got, double want, double tol, const char *file, int line, const char *what) {
    const bool ok = got == want || fabs(got - want) <= tol; /* equal infinities are near; nan is near nothing */
    return verdict(ok, file, line, what, "got %.9g, want %.9g within %.3g", got, want, tol);
}

bool test_check_mem(const void *got, const void *want, size_t n, const char *file, int line, const char *what) {
    const unsigned char *g = got, *w = want;
    size_t i = 0;
    while (i < n && g[i] == w[i]) i++;
    if (i == n) return verdict(true, file, line, what, "equal");
    return verdict(false, file, line, what, "byte %zu of %zu is 0x%02x, want 0x%02x", i, n, g[i], w[i]);
}

bool test_check_nmse(const float *got, const float *want, size_t n, double e, const char *file, int line, const char *what) {
    double diff = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)got[i] - want[i];
        diff += d * d;
        norm += (double)want[i] * want[i];
    }
    return verdict(diff <= e * norm, file, line, what, "NMSE %.3g, at most %.3g allowed (%zu elements)",
                   norm > 0 ? diff / norm : diff, e, n);
}

void test_case(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(test_now->case_name, sizeof test_now->case_name, fmt, ap);
    va_end(ap);
}

void test_skip(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(test_now->reason, sizeof test_now->reason, fmt, ap);
    va_end(ap);
    test_now->skipped = 1;
}

const char *test_path(const char *rel) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/%s", INGOT_SOURCE_DIR, rel);
    return path;
}

const char *test_model(const char *name) {
    static const char *const files[][2] = {
        {"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
        {"gemma3-270m", "gemma-3-270m-q4_k_m.gguf"},
    };
    static char path[1024];
    const char *dir = getenv("INGOT_MODELS");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(name, files[i][0]) != 0) continue;
        if (dir)
            snprintf(path, sizeof path, "%s/%s", dir, files[i][1]);
        else
            snprintf(path, sizeof path, "%s/models/%s", INGOT_SOURCE_DIR, files[i][1]);
        struct stat st;
        return stat(path, &st) == 0 ? path : NULL;
    }
    return NULL;
}
