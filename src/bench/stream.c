/* Plain reads and copies: what the memory gives to the same threads at the same moment. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <string.h>

enum { GRAIN = 4096 };

size_t ingot_bench_stream_bytes(size_t bytes, size_t piece) {
    const size_t rounded = (piece + GRAIN - 1) / GRAIN * GRAIN, least = 2 * rounded;
    return bytes > least ? (bytes + GRAIN - 1) / GRAIN * GRAIN : least;
}

typedef struct part {
    const uint8_t *from;
    uint8_t *to;
    size_t n;
    _Atomic uint64_t sink;
} part;

/* This thread's share of n bytes. */
static void share(const ingot_team *team, size_t n, size_t *begin, size_t *end) {
    int from, to;
    ingot_team_range(team, (int)(n / 64), 64, &from, &to);
    *begin = (size_t)from * 64;
    *end = to == (int)(n / 64) ? n : (size_t)to * 64;
}

static void touch(const ingot_team *team, void *arg) {
    part *p = arg;
    size_t begin, end;
    share(team, p->n, &begin, &end);
    memset(p->to + begin, 0x5a, end - begin);
}

ingot_status ingot_bench_stream_open(bench_stream *s, ingot_pool *pool, size_t bytes, size_t piece) {
    *s = (bench_stream){.bytes = ingot_bench_stream_bytes(bytes, piece)};
    s->base = ingot_alloc_mapped(s->bytes, INGOT_MEM_SCRATCH);
    if (!s->base) return ingot_fail(INGOT_E_NOMEM, "no memory for %zu bytes to be read", s->bytes);
    part p = {.to = s->base, .n = s->bytes};
    ingot_pool_run(pool, touch, &p);
    return INGOT_OK;
}

void ingot_bench_stream_close(bench_stream *s) {
    ingot_dealloc_mapped(s->base);
    *s = (bench_stream){0};
}

uint8_t *ingot_bench_stream_next(bench_stream *s, size_t n) {
    if (s->at + n > s->bytes) s->at = 0;
    uint8_t *p = s->base + s->at;
    s->at += (n + GRAIN - 1) / GRAIN * GRAIN;
    return p;
}

static void read_part(const ingot_team *team, void *arg) {
    part *p = arg;
    size_t begin, end;
    share(team, p->n, &begin, &end);
    uint64_t a[16] = {0};
    const uint64_t *q = (const uint64_t *)(const void *)(p->from + begin);
    for (size_t i = 0; i + 16 <= (end - begin) / 8; i += 16)
        for (size_t j = 0; j < 16; j++) a[j] |= q[i + j];
    for (int j = 1; j < 16; j++) a[0] |= a[j];
    atomic_fetch_or(&p->sink, a[0]);
    ingot_team_barrier(team);
}

static void copy_part(const ingot_team *team, void *arg) {
    part *p = arg;
    size_t begin, end;
    share(team, p->n, &begin, &end);
    memcpy(p->to + begin, p->from + begin, end - begin);
    ingot_team_barrier(team);
}

uint64_t ingot_bench_stream_read(bench_stream *s, ingot_pool *pool, bool cpu_time, size_t n) {
    part p = {.from = ingot_bench_stream_next(s, n), .n = n};
    return ingot_bench_time_team(pool, cpu_time, read_part, &p);
}

uint64_t ingot_bench_stream_copy(bench_stream *s, bench_stream *to, ingot_pool *pool, bool cpu_time, size_t n) {
    part p = {.from = ingot_bench_stream_next(s, n), .to = ingot_bench_stream_next(to, n), .n = n};
    return ingot_bench_time_team(pool, cpu_time, copy_part, &p);
}
