#include "test.h"
#include "base/pool.h"
#include <ingot/status.h>
#include <time.h>

enum { MAX_TEAM = 16, ITEMS = 1000 };

/* More threads than any small machine has cores, one, and what the machine has. */
static const int sizes[] = {1, 2, 3, 0, MAX_TEAM};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); }

typedef struct work {
    atomic_int seen[MAX_TEAM], drawn[2][ITEMS], wrong;
    int phase[MAX_TEAM]; /* plain: the barrier must order it */
    int rounds;
} work;

static void count_ranks(const ingot_team *t, void *arg) {
    work *w = arg;
    w->seen[t->rank]++;
}

TEST("pool/every thread of the team runs each function once") {
    for (int s = 0; s < N_SIZES; s++) {
        ingot_pool *pool;
        if (!CHECK_OK(ingot_pool_create(&pool, sizes[s]))) return;
        const int n = ingot_pool_size(pool);
        test_case("%d threads", n);
        CHECK(sizes[s] ? n == sizes[s] : n >= 1);
        work w = {0};
        for (int i = 0; i < 200; i++) {
            ingot_pool_run(pool, count_ranks, &w);
            if (i % 50 == 0) nap(); /* long enough that the others fall asleep */
        }
        for (int r = 0; r < n && r < MAX_TEAM; r++) CHECK_INT(w.seen[r], 200);
        ingot_pool_destroy(pool);
    }
}

static void phases(const ingot_team *t, void *arg) {
    work *w = arg;
    for (int i = 1; i <= w->rounds; i++) {
        w->phase[t->rank] = i;
        if (i % 97 == 0 && t->rank == 0) nap();
        ingot_team_barrier(t);
        for (int r = 0; r < t->size; r++) w->wrong += w->phase[r] != i;
        ingot_team_barrier(t);
    }
}

TEST("pool/nobody passes a barrier before all have come, also with more threads than cores") {
    for (int n = 2; n <= MAX_TEAM; n *= 2) {
        test_case("%d threads", n);
        ingot_pool *pool;
        if (!CHECK_OK(ingot_pool_create(&pool, n))) return;
        work w = {.rounds = 300};
        ingot_pool_run(pool, phases, &w);
        CHECK_INT(w.wrong, 0);
        CHECK_INT(w.phase[n - 1], 300);
        ingot_pool_destroy(pool);
    }
}

static void draw(const ingot_team *t, void *arg) {
    work *w = arg;
    for (int round = 0; round < w->rounds; round++) {
        const int slot = round % 2 ? 3 : 0; /* the same slot comes back while slow threads still draw from it */
        ingot_team_start(t, slot);
        int last = -1;
        for (int i; (i = ingot_team_next(t, slot)) < ITEMS;) {
            w->wrong += i <= last;
            last = i;
            w->drawn[round % 2][i]++;
        }
    }
}

TEST("pool/each item is handed out once and in order") {
    for (int s = 0; s < N_SIZES; s++) {
        test_case("%d threads", sizes[s]);
        ingot_pool *pool;
        if (!CHECK_OK(ingot_pool_create(&pool, sizes[s]))) return;
        static work w;
        memset(&w, 0, sizeof w);
        w.rounds = 40;
        ingot_pool_run(pool, draw, &w);
        int wrong = w.wrong;
        for (int i = 0; i < ITEMS; i++) wrong += w.drawn[0][i] != 20 || w.drawn[1][i] != 20;
        CHECK_INT(wrong, 0);
        ingot_pool_destroy(pool);
    }
}

static void draw_same_slot(const ingot_team *t, void *arg) {
    work *w = arg;
    for (int round = 0; round < w->rounds; round++) {
        ingot_team_start(t, 1);
        for (int i; (i = ingot_team_next(t, 1)) < 20;) w->drawn[0][i]++;
    }
}

TEST("pool/a counter may be started again at once") {
    ingot_pool *pool;
    if (!CHECK_OK(ingot_pool_create(&pool, 4))) return;
    static work w;
    w.rounds = 2000;
    ingot_pool_run(pool, draw_same_slot, &w);
    for (int i = 0; i < 20; i++) CHECK_INT(w.drawn[0][i], 2000);
    ingot_pool_destroy(pool);
}

TEST("pool/a split covers every item once, in multiples of the grain") {
    for (int size = 1; size <= 9; size++)
        for (int n = 0; n < 70; n++)
            for (int grain = 1; grain <= 16; grain *= 4) {
                int at = 0, wrong = 0, smallest = n, largest = 0;
                for (int rank = 0; rank < size; rank++) {
                    const ingot_team t = {NULL, rank, size};
                    int begin, end;
                    ingot_team_range(&t, n, grain, &begin, &end);
                    wrong += begin != at || end < begin || (begin % grain && begin != n);
                    if (end - begin < smallest) smallest = end - begin;
                    if (end - begin > largest) largest = end - begin;
                    at = end;
                }
                if (wrong || at != n || largest - smallest > 2 * grain - 1) {
                    test_case("%d items, grain %d, %d threads", n, grain, size);
                    CHECK(false);
                }
            }
    CHECK(true);
}

TEST("pool/an impossible number of threads is named") {
    ingot_pool *pool = (ingot_pool *)1;
    CHECK_STATUS(ingot_pool_create(&pool, -3), INGOT_E_INVALID);
    CHECK(pool == NULL);
    CHECK_HAS(ingot_last_error(), "-3");
    CHECK_STATUS(ingot_pool_create(&pool, 1000000), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "1000000");
    ingot_pool_destroy(NULL);
}
