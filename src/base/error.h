/* Setting the thread's last error message. */
#ifndef INGOT_BASE_ERROR_H
#define INGOT_BASE_ERROR_H
#include <ingot/status.h>

/* Formats the message of this thread's last error and returns `s`, so that `return ingot_fail(...)` reads well. */
ingot_status ingot_fail(ingot_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "prefix: " in front of the last message and returns `s` unchanged. */
ingot_status ingot_fail_prefix(ingot_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns from the calling function when `expr` fails. */
#define INGOT_TRY(expr)                          \
    do {                                         \
        ingot_status ingot_try_s_ = (expr);      \
        if (ingot_try_s_ != INGOT_OK) return ingot_try_s_; \
    } while (0)
#endif
