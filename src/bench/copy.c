/* The memory's own bandwidth: the ceiling of everything that reads a cache. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/error.h"

enum { USUAL_PIECE = 64 << 20 };

typedef struct copy_job {
    const ingot_bench_protocol *p;
    ingot_pool *pool;
    bench_stream from, to;
    size_t cold, n;
} copy_job;

static ingot_status run_read(void *self, int round, uint64_t *ns) {
    copy_job *j = self;
    (void)round;
    *ns = ingot_bench_stream_read(&j->from, j->pool, j->p->cpu_time, j->n);
    return INGOT_OK;
}

static ingot_status run_copy(void *self, int round, uint64_t *ns) {
    copy_job *j = self;
    (void)round;
    *ns = ingot_bench_stream_copy(&j->from, &j->to, j->pool, j->p->cpu_time, j->n);
    return INGOT_OK;
}

static ingot_status measure(copy_job *j, ingot_bench_copy_result *out) {
    INGOT_TRY(ingot_bench_check_memory(2.0 * (double)ingot_bench_stream_bytes(j->cold, j->n), "two regions, larger than the processor's cache,"));
    INGOT_TRY(ingot_bench_stream_open(&j->from, j->pool, j->cold, j->n));
    INGOT_TRY(ingot_bench_stream_open(&j->to, j->pool, j->cold, j->n));
    bench_item items[] = {{run_read, j, &out->read}, {run_copy, j, &out->copy}};
    const ingot_status s = ingot_bench_rounds(j->p, items, 2, 2, "reading and copying");
    out->read_gb_s = 1e-3 * out->n_bytes / out->read.sum.median;
    out->copy_gb_s = 2e-3 * out->n_bytes / out->copy.sum.median;
    return s;
}

ingot_status ingot_bench_copy(ingot_bench_copy_result *out, ingot_device *device, const ingot_bench_protocol *p, size_t n_bytes) {
    if (!out || !device || !p) return ingot_fail(INGOT_E_INVALID, "measuring bandwidth needs a device, a protocol and a place for the result");
    const size_t cold = ingot_bench_cold_bytes(p), usual = cold < USUAL_PIECE ? cold : USUAL_PIECE;
    copy_job j = {.p = p, .pool = device->pool, .cold = cold, .n = n_bytes ? n_bytes : usual};
    *out = (ingot_bench_copy_result){.n_bytes = (double)j.n};
    INGOT_TRY(ingot_bench_check_protocol(p));
    const ingot_status s = measure(&j, out);
    ingot_bench_stream_close(&j.from);
    ingot_bench_stream_close(&j.to);
    return s;
}

void ingot_bench_copy_free(ingot_bench_copy_result *r) {
    ingot_dealloc(r->read.us);
    ingot_dealloc(r->copy.us);
    r->read.us = r->copy.us = NULL;
}
