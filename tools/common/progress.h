/* A progress line on stderr, where somebody watches it: shown on a terminal only, wiped when the work is done. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H
#include <stdbool.h>

typedef struct progress {
    bool shown; /* whether to show anything */
    bool dirty; /* whether a line stands there */
    double last;
} progress;

/* Nothing is shown when `quiet` or when stderr is no terminal. */
progress progress_start(bool quiet);
void progress_show(progress *p, const char *what, double fraction);
void progress_wipe(progress *p);
/* A callback for the library (user: progress *); false, which cancels, after Ctrl-C. */
bool progress_callback(void *user, const char *what, double fraction);
#endif
