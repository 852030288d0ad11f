#include "progress.h"
#include "system.h"
#include <stdio.h>
#include <unistd.h>

progress progress_start(bool quiet) { return (progress){.shown = !quiet && isatty(STDERR_FILENO)}; }

void progress_show(progress *p, const char *what, double fraction) {
    const double now = system_seconds();
    if (!p->shown || (p->dirty && fraction < 1 && now - p->last < 0.1)) return;
    fprintf(stderr, "\r%s %3.0f %%\033[K", what, 100 * fraction);
    p->last = now;
    p->dirty = true;
}

void progress_wipe(progress *p) {
    if (p->dirty) fprintf(stderr, "\r\033[K");
    p->dirty = false;
}

bool progress_callback(void *user, const char *what, double fraction) {
    progress_show(user, what, fraction);
    return !system_interrupted();
}
