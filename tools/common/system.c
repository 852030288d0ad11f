#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

double system_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t system_peak_rss_bytes(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
#ifdef __APPLE__
    return (size_t)u.ru_maxrss;
#else
    return (size_t)u.ru_maxrss * 1024;
#endif
}

uint64_t system_random_seed(void) {
    uint32_t seed = 0; /* 32 bits: easy to type again */
    if (getentropy(&seed, sizeof seed) != 0) seed = (uint32_t)(system_seconds() * 1e9);
    return seed;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

void system_catch_interrupt(bool again_ends) {
    interrupted = 0;
    /* without SA_RESTART: a read that waits must notice */
    struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = again_ends ? (int)SA_RESETHAND : 0};
    sigaction(SIGINT, &a, NULL);
}

bool system_interrupted(void) { return interrupted != 0; }

bool system_wait_input(void) {
    sigset_t interrupt, before;
    fd_set readable;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before); /* open only inside pselect: no gap between looking and waiting */
    for (int n = -1; n < 0 && !interrupted;) {
        FD_ZERO(&readable);
        FD_SET(STDIN_FILENO, &readable);
        n = pselect(STDIN_FILENO + 1, &readable, NULL, NULL, NULL, &before);
        if (n < 0 && errno != EINTR) break;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !interrupted;
}

static bool read_all(strbuf *out, int fd, const char *path) {
    char part[65536];
    for (;;) {
        const ssize_t n = read(fd, part, sizeof part);
        if (n == 0) return true;
        if (n < 0 && errno == EINTR && !interrupted) continue;
        if (n < 0) {
            cli_fail("cannot read %s: %s", path, strerror(errno));
            return false;
        }
        strbuf_add(out, part, (size_t)n);
    }
}

bool system_read_file(strbuf *out, const char *path) {
    strbuf_add(out, "", 0);
    if (!strcmp(path, "-")) return read_all(out, STDIN_FILENO, "the standard input");
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_fail("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    const bool ok = read_all(out, fd, path);
    close(fd);
    return ok;
}
