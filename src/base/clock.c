#include "clock.h"
#include <sys/resource.h>
#include <time.h>

uint64_t ingot_clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

size_t ingot_peak_rss_bytes(void) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0) return 0;
#ifdef __APPLE__
    return (size_t)u.ru_maxrss; /* bytes there, KiB elsewhere */
#else
    return (size_t)u.ru_maxrss * 1024u;
#endif
}
