#include "pool.h"
#include "alloc.h"
#include "error.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1024,
    N_SLOTS = 4,
    SPINS = 2000, /* some tens of microseconds: longer than the gap between two operations of a decode step */
    YIELDS = 8,   /* another process may hold the core that the thread waited for needs */
    STACK_BYTES = 2 << 20
};

/* A number that threads wait to see change. */
typedef struct gate {
    atomic_uint value;
    atomic_int sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} gate;

typedef struct slot {
    _Alignas(64) atomic_int next;
} slot;

struct ingot_pool {
    int n, n_started, spins;
    ingot_team_fn fn;
    void *arg;
    bool stop;
    ingot_team *teams; /* [n], what each thread is given */
    pthread_t *threads; /* [n - 1] */
    _Alignas(64) atomic_int arrived;
    slot slots[N_SLOTS];
    _Alignas(64) gate go;      /* changes when there is work, or the end */
    _Alignas(64) gate barrier; /* changes when all have arrived */
};

static void pause_cpu(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The sleeper announces itself before it looks at the value, the waker changes the value before it looks for sleepers;
 * with sequentially consistent operations one of them sees the other. */
static void gate_wait(gate *g, unsigned old, int spins) {
    for (int i = 0; i < spins; i++) {
        if (atomic_load_explicit(&g->value, memory_order_acquire) != old) return;
        pause_cpu();
    }
    for (int i = 0; i < YIELDS; i++) {
        if (atomic_load_explicit(&g->value, memory_order_acquire) != old) return;
        sched_yield();
    }
    pthread_mutex_lock(&g->mutex);
    atomic_fetch_add(&g->sleepers, 1);
    while (atomic_load(&g->value) == old) pthread_cond_wait(&g->cond, &g->mutex);
    atomic_fetch_sub(&g->sleepers, 1);
    pthread_mutex_unlock(&g->mutex);
}

static void gate_advance(gate *g) {
    atomic_fetch_add(&g->value, 1);
    if (atomic_load(&g->sleepers) == 0) return;
    pthread_mutex_lock(&g->mutex);
    pthread_cond_broadcast(&g->cond);
    pthread_mutex_unlock(&g->mutex);
}

static void gate_init(gate *g) {
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->cond, NULL);
}

static void gate_free(gate *g) {
    pthread_cond_destroy(&g->cond);
    pthread_mutex_destroy(&g->mutex);
}

/* The last to arrive resets the counter of `reset` (-1: none): at that moment nobody can be drawing from it. */
static void meet(ingot_pool *p, int reset) {
    const unsigned old = atomic_load(&p->barrier.value);
    if (atomic_fetch_add(&p->arrived, 1) != p->n - 1) {
        gate_wait(&p->barrier, old, p->spins);
        return;
    }
    if (reset >= 0) atomic_store_explicit(&p->slots[reset].next, 0, memory_order_relaxed);
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    gate_advance(&p->barrier);
}

static void *worker(void *arg) {
    const ingot_team *team = arg;
    ingot_pool *p = team->pool;
    for (unsigned seen = 0;; seen++) {
        gate_wait(&p->go, seen, p->spins);
        if (p->stop) return NULL;
        p->fn(team, p->arg);
        meet(p, -1);
    }
}

int ingot_pool_usable_cores(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Signals meant for the program (an interrupt) go to its own thread; faults stay with the thread that caused them. */
static void mask_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static bool start_threads(ingot_pool *p) {
    pthread_attr_t attr;
    sigset_t before;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    mask_signals(&before);
    while (p->n_started < p->n - 1) {
        if (pthread_create(&p->threads[p->n_started], &attr, worker, &p->teams[p->n_started + 1]) != 0) break;
        p->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return p->n_started == p->n - 1;
}

ingot_status ingot_pool_create(ingot_pool **out, int n_threads) {
    *out = NULL;
    if (n_threads < 0 || n_threads > MAX_THREADS)
        return ingot_fail(INGOT_E_INVALID, "%d threads: 0 (one per core) to %d are possible", n_threads, MAX_THREADS);
    const int cores = ingot_pool_usable_cores();
    const int n = n_threads ? n_threads : cores < MAX_THREADS ? cores : MAX_THREADS;
    ingot_pool *p = ingot_alloc(sizeof *p, INGOT_MEM_OTHER);
    if (!p) return ingot_fail(INGOT_E_NOMEM, "no memory for a pool of %d threads", n);
    p->n = n;
    p->spins = n > cores ? 0 : SPINS; /* spinning would keep the others from running */
    gate_init(&p->go);
    gate_init(&p->barrier);
    p->teams = ingot_alloc_array((size_t)n, sizeof *p->teams, INGOT_MEM_OTHER);
    p->threads = ingot_alloc_array((size_t)n, sizeof *p->threads, INGOT_MEM_OTHER);
    if (!p->teams || !p->threads) {
        ingot_pool_destroy(p);
        return ingot_fail(INGOT_E_NOMEM, "no memory for a pool of %d threads", n);
    }
    for (int i = 0; i < n; i++) p->teams[i] = (ingot_team){p, i, n};
    if (!start_threads(p)) {
        const int started = p->n_started + 1;
        ingot_pool_destroy(p);
        return ingot_fail(INGOT_E_NOMEM, "the system gave %d of %d threads", started, n);
    }
    *out = p;
    return INGOT_OK;
}

void ingot_pool_destroy(ingot_pool *p) {
    if (!p) return;
    p->stop = true;
    gate_advance(&p->go);
    for (int i = 0; i < p->n_started; i++) pthread_join(p->threads[i], NULL);
    gate_free(&p->go);
    gate_free(&p->barrier);
    ingot_dealloc(p->teams);
    ingot_dealloc(p->threads);
    ingot_dealloc(p);
}

int ingot_pool_size(const ingot_pool *p) { return p->n; }

void ingot_pool_run(ingot_pool *p, ingot_team_fn fn, void *arg) {
    p->fn = fn;
    p->arg = arg;
    if (p->n > 1) gate_advance(&p->go);
    fn(&p->teams[0], arg);
    if (p->n > 1) meet(p, -1);
}

void ingot_team_barrier(const ingot_team *t) {
    if (t->size > 1) meet(t->pool, -1);
}

void ingot_team_start(const ingot_team *t, int slot) {
    if (t->size > 1)
        meet(t->pool, slot);
    else
        atomic_store_explicit(&t->pool->slots[slot].next, 0, memory_order_relaxed);
}

int ingot_team_next(const ingot_team *t, int slot) {
    return atomic_fetch_add_explicit(&t->pool->slots[slot].next, 1, memory_order_relaxed);
}

void ingot_team_range(const ingot_team *t, int n, int grain, int *begin, int *end) {
    const long long units = ((long long)n + grain - 1) / grain, whole = units / t->size, rest = units % t->size;
    const long long first = whole * t->rank + (t->rank < rest ? t->rank : rest);
    const long long last = first + whole + (t->rank < rest);
    *begin = (int)(first * grain < n ? first * grain : n);
    *end = (int)(last * grain < n ? last * grain : n);
}
