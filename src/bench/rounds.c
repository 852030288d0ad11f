/* Rounds: everything that is compared runs by turns in one process, so that a slow moment of the machine hits all of it. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/error.h"
#include <time.h>

enum { LEAST_ROUNDS = 7, MOST_ROUNDS = 10000 };

static uint64_t now(bool cpu_time, clockid_t clock) {
    struct timespec t;
    if (!cpu_time || clock_gettime(clock, &t) != 0) return ingot_clock_ns();
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ingot_bench_process_ns(bool cpu_time, int n_threads) { return now(cpu_time, CLOCK_PROCESS_CPUTIME_ID) / (cpu_time ? (uint64_t)n_threads : 1); }

typedef struct timed {
    ingot_team_fn fn;
    void *arg;
    bool cpu_time;
    _Atomic uint64_t longest;
} timed;

static void run_timed(const ingot_team *team, void *arg) {
    timed *t = arg;
    ingot_team_barrier(team);
    const uint64_t start = now(t->cpu_time, CLOCK_THREAD_CPUTIME_ID);
    t->fn(team, t->arg);
    const uint64_t ns = now(t->cpu_time, CLOCK_THREAD_CPUTIME_ID) - start;
    uint64_t seen = atomic_load(&t->longest);
    while (ns > seen && !atomic_compare_exchange_weak(&t->longest, &seen, ns)) {}
}

uint64_t ingot_bench_time_team(ingot_pool *pool, bool cpu_time, ingot_team_fn fn, void *arg) {
    timed t = {.fn = fn, .arg = arg, .cpu_time = cpu_time};
    ingot_pool_run(pool, run_timed, &t);
    return atomic_load(&t.longest);
}

static int most_rounds(const ingot_bench_protocol *p) { return p->n_reps ? p->n_reps : MOST_ROUNDS; }

static bool enough(const ingot_bench_protocol *p, int done, double seconds, double wanted) {
    return done >= most_rounds(p) || (!p->n_reps && done >= LEAST_ROUNDS && seconds >= wanted);
}

static ingot_status run_round(bench_item *items, int n, int round) {
    for (int i = 0; i < n; i++) {
        bench_item *item = &items[round % 2 ? n - 1 - i : i];
        uint64_t ns = 0;
        INGOT_TRY(item->run(item->self, round, &ns));
        if (round) item->times->us[round - 1] = 1e-3 * (double)ns; /* counts when the round is complete */
    }
    return INGOT_OK;
}

static ingot_status run_rounds(const ingot_bench_protocol *p, bench_item *items, int n, int n_rows, const char *what) {
    const double wanted = p->seconds * n_rows;
    uint64_t start = ingot_clock_ns();
    for (int done = 0;; done++) {
        const double seconds = 1e-9 * (double)(ingot_clock_ns() - start);
        const double by_time = wanted > 0 ? seconds / wanted : 1, by_count = (double)done / most_rounds(p);
        if (p->progress && !p->progress(p->progress_user, what, p->n_reps ? by_count : by_time < 1 ? by_time : 1))
            return ingot_fail(INGOT_E_CANCELLED, "interrupted after %d rounds", done);
        if (enough(p, done, seconds, wanted)) return INGOT_OK;
        if (!done) {
            INGOT_TRY(run_round(items, n, 0));
            start = ingot_clock_ns();
        }
        INGOT_TRY(run_round(items, n, done + 1));
        for (int i = 0; i < n; i++) items[i].times->n = done + 1;
    }
}

ingot_status ingot_bench_rounds(const ingot_bench_protocol *p, bench_item *items, int n, int n_rows, const char *what) {
    for (int i = 0; i < n; i++) {
        items[i].times->us = ingot_alloc_array((size_t)most_rounds(p), sizeof(double), INGOT_MEM_OTHER);
        if (!items[i].times->us) return ingot_fail(INGOT_E_NOMEM, "out of memory for the times of %d rounds", most_rounds(p));
    }
    const ingot_status s = run_rounds(p, items, n, n_rows, what);
    for (int i = 0; i < n; i++)
        if (items[i].times->n) INGOT_TRY(ingot_bench_times_finish(items[i].times));
    return s;
}
