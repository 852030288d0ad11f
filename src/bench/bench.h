/* What the measurements share: rounds, timing of a team, memory that nobody has touched lately. */
#ifndef INGOT_BENCH_INTERNAL_H
#define INGOT_BENCH_INTERNAL_H
#include "../backend/backend.h"
#include "../base/pool.h"
#include <ingot/bench.h>

/* --- rounds.c --- */
/* Nanoseconds that `fn` takes on all threads of the pool, from the moment when all are there: the longest of any thread. */
uint64_t ingot_bench_time_team(ingot_pool *pool, bool cpu_time, ingot_team_fn fn, void *arg);

/* Now, in nanoseconds: of the wall, or those that this process ran, over the number of threads. */
uint64_t ingot_bench_process_ns(bool cpu_time, int n_threads);

/* Something that is measured once a round. */
typedef struct bench_item {
    /* Runs it once. `round` counts from 0; round 0 warms up. Nothing but the time to be counted goes into *ns. */
    ingot_status (*run)(void *self, int round, uint64_t *ns);
    void *self;
    ingot_bench_times *times; /* us is allocated here */
} bench_item;
/* Runs items[n] by turns, forwards in even and backwards in odd rounds, until the protocol is satisfied; n_rows is what its seconds are multiplied with. Times and
 * summaries are set also when it ends early: of the rounds that are complete. */
ingot_status ingot_bench_rounds(const ingot_bench_protocol *p, bench_item *items, int n, int n_rows, const char *what);

/* --- stream.c: a region that is read or copied piece by piece, each time another one --- */
typedef struct bench_stream {
    uint8_t *base;
    size_t bytes, at;
} bench_stream;
/* At least `bytes` and at least two pieces of `piece`; touched. INGOT_E_NOMEM. */
ingot_status ingot_bench_stream_open(bench_stream *s, ingot_pool *pool, size_t bytes, size_t piece);
void ingot_bench_stream_close(bench_stream *s);
size_t ingot_bench_stream_bytes(size_t bytes, size_t piece);
/* The next n bytes. */
uint8_t *ingot_bench_stream_next(bench_stream *s, size_t n);
/* Time of a plain read of the next n bytes by all threads of the pool. */
uint64_t ingot_bench_stream_read(bench_stream *s, ingot_pool *pool, bool cpu_time, size_t n);
/* Of a copy of the next n bytes to `to`'s next n. */
uint64_t ingot_bench_stream_copy(bench_stream *s, bench_stream *to, ingot_pool *pool, bool cpu_time, size_t n);

/* --- host.c --- */
/* Bytes that data is rotated over. */
size_t ingot_bench_cold_bytes(const ingot_bench_protocol *p);
/* INGOT_E_NOMEM, naming `what`, when more is wanted than is available. */
ingot_status ingot_bench_check_memory(double wanted, const char *what);
/* Adds to a message of INGOT_E_NOMEM how much there is. Returns s. */
ingot_status ingot_bench_no_memory(ingot_status s);
ingot_status ingot_bench_check_protocol(const ingot_bench_protocol *p);

/* --- inputs.c --- */
/* Random normal numbers [rows][width], to be freed with ingot_dealloc; NULL when there is no memory. */
float *ingot_bench_random(size_t rows, size_t width, uint64_t seed);
/* Marks a row with this thread's last error unless s is INGOT_OK. Returns s. */
ingot_status ingot_bench_settle(ingot_status *status, char message[INGOT_BENCH_MESSAGE_BYTES], ingot_status s);
/* INGOT_E_UNSUPPORTED when the plan needs a calibration or evicts: without a model there is nothing to calibrate for, nor attention to decide by. */
ingot_status ingot_bench_check_plan(const ingot_plan *plan);
/* A cache of layers that are alike, scaled as usual. */
typedef struct bench_shape {
    int n_layers, n_heads, n_kv_heads, head_dim, max_tokens, max_batch;
} bench_shape;
ingot_status ingot_bench_cache_open(ingot_cache **out, ingot_device *device, const ingot_plan *plan, const bench_shape *shape);

/* --- stats.c --- */
/* Allocates scratch and summarises us[n]. */
ingot_status ingot_bench_times_finish(ingot_bench_times *t);
/* a / b of the same rounds. */
ingot_status ingot_bench_ratio(ingot_bench_summary *out, const ingot_bench_times *a, const ingot_bench_times *b);
#endif
