/* Time and process memory. */
#ifndef INGOT_BASE_CLOCK_H
#define INGOT_BASE_CLOCK_H
#include <stddef.h>
#include <stdint.h>
/* Monotonic nanoseconds. */
uint64_t ingot_clock_ns(void);
/* Peak resident set of this process in bytes. */
size_t ingot_peak_rss_bytes(void);
#endif
