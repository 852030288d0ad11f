/* The operating system as the tools need it: time, memory, Ctrl-C, whole files. */
#ifndef TOOLS_SYSTEM_H
#define TOOLS_SYSTEM_H
#include "cli.h"
#include <stdint.h>

/* Monotonic seconds. */
double system_seconds(void);
/* Largest resident set of this process so far. */
size_t system_peak_rss_bytes(void);
/* A seed that differs from run to run. */
uint64_t system_random_seed(void);

/* Clears the flag that Ctrl-C sets from now on; with `again_ends` a second Ctrl-C ends the program. */
void system_catch_interrupt(bool again_ends);
bool system_interrupted(void);
/* Waits until stdin can be read; false after Ctrl-C, also when that came before the call. */
bool system_wait_input(void);

/* The whole of a file, or of stdin when `path` is "-". False after printing why not. */
bool system_read_file(strbuf *out, const char *path);
#endif
