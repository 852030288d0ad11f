#include "error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A fixed buffer: reporting "out of memory" must not need memory. Longer messages are cut. */
static _Thread_local char last_error[1024];

const char *ingot_last_error(void) { return last_error; }

ingot_status ingot_fail(ingot_status s, const char *fmt, ...) {
    char text[sizeof last_error]; /* the arguments may point into the last message */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(last_error, text, sizeof text);
    return s;
}

ingot_status ingot_fail_prefix(ingot_status s, const char *fmt, ...) {
    char prefix[sizeof last_error], text[2 * sizeof last_error + 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    snprintf(text, sizeof text, "%s: %s", prefix, last_error);
    memcpy(last_error, text, sizeof last_error - 1);
    return s;
}

const char *ingot_status_string(ingot_status s) {
    switch (s) {
    case INGOT_OK: return "ok";
    case INGOT_E_INVALID: return "invalid argument";
    case INGOT_E_NOMEM: return "out of memory";
    case INGOT_E_IO: return "input or output failed";
    case INGOT_E_FORMAT: return "malformed file";
    case INGOT_E_UNSUPPORTED: return "not supported";
    case INGOT_E_FULL: return "capacity used up";
    case INGOT_E_CANCELLED: return "cancelled";
    }
    return "unknown status";
}
