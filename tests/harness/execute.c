/* Runs one test in a child process: a crash or an endless loop costs that test, not the run. */
#include "harness.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

test_state *test_now;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void child(const test_entry *test) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    setpgid(0, 0); /* a timeout ends the programs that the test started, too */
    test->fn();
    test_now->finished = 1;
    fflush(NULL);
    exit(0); /* not _exit: the leak checker runs at exit */
}

/* Waits until every process that holds the pipe's other end is gone. False after timeout_s. */
static bool wait_end(int fd, int timeout_s) {
    const double end = seconds() + timeout_s;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (;;) {
        const double left = end - seconds();
        if (left <= 0) return false;
        const int r = poll(&p, 1, (int)(left * 1000) + 1);
        if (r > 0) return true;
        if (r < 0 && errno != EINTR) return true;
    }
}

static void run_child(const test_entry *test, int timeout_s, char *why, size_t cap) {
    int fd[2];
    if (pipe(fd) != 0) {
        snprintf(why, cap, "no pipe: %s", strerror(errno));
        return;
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(test);
    }
    close(fd[1]);
    if (pid < 0) {
        snprintf(why, cap, "no child process: %s", strerror(errno));
        close(fd[0]);
        return;
    }
    const bool ended = wait_end(fd[0], timeout_s);
    if (!ended) kill(-pid, SIGKILL);
    close(fd[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!ended)
        snprintf(why, cap, "still running after %d s", timeout_s);
    else if (WIFSIGNALED(status))
        snprintf(why, cap, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        snprintf(why, cap, "exit code %d", WEXITSTATUS(status));
    else if (!test_now->finished)
        snprintf(why, cap, "called exit");
}

void test_execute(const test_entry *test, bool in_process, int timeout_s, char *why, size_t cap) {
    if (!test_now) {
        test_now = mmap(NULL, sizeof *test_now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (test_now == MAP_FAILED) {
            perror("ingot-tests: mmap");
            exit(2);
        }
    }
    memset(test_now, 0, sizeof *test_now);
    why[0] = 0;
    if (in_process)
        test->fn();
    else
        run_child(test, timeout_s, why, cap);
}
