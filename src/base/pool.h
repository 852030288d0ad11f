/* Threads. A pool runs one function on all its threads at once (a team); the calling thread is thread 0.
 * Inside, the team synchronises with barriers and shares work with counters. No allocation after creation. */
#ifndef INGOT_BASE_POOL_H
#define INGOT_BASE_POOL_H
#include <ingot/status.h>
#include <stdatomic.h>

typedef struct ingot_pool ingot_pool;

/* What each thread of a running team sees. */
typedef struct ingot_team {
    ingot_pool *pool;
    int rank, size; /* this thread, all threads */
} ingot_team;

typedef void (*ingot_team_fn)(const ingot_team *team, void *arg);

/* Cores that this process may run on (affinity honoured). */
int ingot_pool_usable_cores(void);
/* n_threads 0 = one per usable core (affinity honoured). */
ingot_status ingot_pool_create(ingot_pool **out, int n_threads);
void ingot_pool_destroy(ingot_pool *pool);
int ingot_pool_size(const ingot_pool *pool);
/* Runs fn on all threads and returns when all are done. Not re-entrant. */
void ingot_pool_run(ingot_pool *pool, ingot_team_fn fn, void *arg);
/* All threads of the team must call it; spins briefly, then yields, then sleeps. A team of one returns at once. */
void ingot_team_barrier(const ingot_team *team);
/* Dynamic work sharing: items are handed out in order, each exactly once. Rank 0 resets between two barriers,
 * or: ingot_team_start() resets counter `slot` (0..3) and contains the barrier before first use. */
void ingot_team_start(const ingot_team *team, int slot);
int ingot_team_next(const ingot_team *team, int slot);
/* Static split of n items into contiguous parts, in multiples of `grain`: this thread's [*begin, *end). */
void ingot_team_range(const ingot_team *team, int n, int grain, int *begin, int *end);
#endif
