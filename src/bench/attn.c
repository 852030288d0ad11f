/* One attention operation as the cache runs it in a layer: new keys and values are stored, queries attend. Plans by turns; copies of the data by turns, so
 * that no cache of the processor holds what is read; beside each operation a plain read of as many bytes. */
#include "attn.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../cache/cache_team.h"
#include <string.h>

enum { POOL_ROWS = 4096, MOST_LAYERS = 512, MOST_COPIES = 8192, FILL_BATCH = 512 };

/* A plan under test: `n_copies` layers in one or more caches, all of them filled with the same tokens. */
typedef struct attn_case {
    attn_job *job;
    ingot_bench_attn_row *row;
    const ingot_plan *plan;
    int n_caches;
    ingot_cache **caches; /* each has MOST_LAYERS layers, the last one the rest */
    float *out;           /* [n_queries][n_heads][head_dim] */
    size_t layer_bytes;   /* reserved for one copy */
    int layer_now;
    ingot_cache *now;
} attn_case;

static int held(const attn_job *j) { return j->c->n_tokens + INGOT_BENCH_RAGGED - j->c->n_queries; }

static size_t op_bytes(const attn_case *a) { return a->row->packed_bytes + a->row->exact_bytes; }

/* --- inputs --- */
static ingot_status make_inputs(attn_job *j) {
    const size_t dim = (size_t)j->c->head_dim, kv = (size_t)j->c->n_kv_heads * dim, rows = (size_t)j->n_rows;
    j->k = ingot_bench_random(rows, kv, 1), j->v = ingot_bench_random(rows, kv, 2);
    j->q = ingot_bench_random((size_t)j->c->n_queries, (size_t)j->c->n_heads * dim, 3);
    j->new_k = ingot_alloc_array((size_t)j->c->n_queries, kv * sizeof(float), INGOT_MEM_SCRATCH);
    j->new_v = ingot_alloc_array((size_t)j->c->n_queries, kv * sizeof(float), INGOT_MEM_SCRATCH);
    if (!j->k || !j->v || !j->q || !j->new_k || !j->new_v) return ingot_fail(INGOT_E_NOMEM, "no memory for %d random tokens and %d query tokens", j->n_rows, j->c->n_queries);
    for (int i = 0; i < j->c->n_queries; i++) {
        const size_t row = (size_t)((held(j) + i) % j->n_rows);
        memcpy(j->new_k + (size_t)i * kv, j->k + row * kv, kv * sizeof(float));
        memcpy(j->new_v + (size_t)i * kv, j->v + row * kv, kv * sizeof(float));
    }
    return INGOT_OK;
}

/* --- caches --- */
static ingot_status open_cache(const attn_case *a, int n_layers, ingot_cache **out) {
    const ingot_bench_attn_config *c = a->job->c;
    const bench_shape shape = {n_layers, c->n_heads, c->n_kv_heads, c->head_dim, held(a->job) + c->n_queries, c->n_queries > FILL_BATCH ? c->n_queries : FILL_BATCH};
    return ingot_bench_cache_open(out, a->job->device, a->plan, &shape);
}

/* How many bytes an operation reads and one copy takes. */
static ingot_status weigh(attn_case *a) {
    ingot_cache *cache;
    ingot_cache_memory memory;
    INGOT_TRY(ingot_bench_check_plan(a->plan));
    INGOT_TRY(ingot_bench_no_memory(open_cache(a, 1, &cache)));
    ingot_cache_memory_get(cache, &memory);
    ingot_cache_attended_bytes(cache, 0, held(a->job) + a->job->c->n_queries, &a->row->packed_bytes, &a->row->exact_bytes);
    ingot_cache_destroy(cache);
    a->layer_bytes = memory.capacity_bytes;
    const size_t copies = (a->job->cold + op_bytes(a) - 1) / op_bytes(a);
    a->row->n_copies = copies < 2 ? 2 : copies > MOST_COPIES ? MOST_COPIES : (int)copies;
    if (a->job->c->kernel) a->row->n_copies *= 2; /* two go round, half a round apart */
    return INGOT_OK;
}


static ingot_status begin(attn_case *a, ingot_cache *cache) {
    return ingot_cache_step_begin(cache, a->job->seqs, a->job->c->n_queries, NULL);
}

static ingot_status fill(attn_case *a) {
    const attn_job *j = a->job;
    a->n_caches = (a->row->n_copies + MOST_LAYERS - 1) / MOST_LAYERS;
    a->caches = ingot_alloc_array((size_t)a->n_caches, sizeof *a->caches, INGOT_MEM_OTHER);
    a->out = ingot_alloc_array((size_t)j->c->n_queries, (size_t)j->c->n_heads * (size_t)j->c->head_dim * sizeof(float), INGOT_MEM_SCRATCH);
    if (!a->caches || !a->out) return ingot_fail(INGOT_E_NOMEM, "no memory for a plan's results");
    for (int i = 0; i < a->n_caches; i++) {
        const int left = a->row->n_copies - i * MOST_LAYERS;
        int seq;
        INGOT_TRY(open_cache(a, left < MOST_LAYERS ? left : MOST_LAYERS, &a->caches[i]));
        INGOT_TRY(ingot_cache_seq_open(a->caches[i], &seq));
        INGOT_TRY(ingot_cache_fill(a->caches[i], seq, held(j), j->k, j->v, j->n_rows));
        INGOT_TRY(begin(a, a->caches[i]));
    }
    return INGOT_OK;
}

static void close_case(attn_case *a) {
    for (int i = 0; i < a->n_caches; i++) ingot_cache_destroy(a->caches ? a->caches[i] : NULL);
    ingot_dealloc(a->caches);
    ingot_dealloc(a->out);
    a->caches = NULL, a->out = NULL, a->n_caches = 0;
}

/* --- what is timed --- */
static void attend(const ingot_team *team, void *arg) {
    const attn_case *a = arg;
    const attn_job *j = a->job;
    const ptrdiff_t dim = j->c->head_dim, kv = j->c->n_kv_heads * dim, heads = j->c->n_heads * dim;
    ingot_cache_layer_team(a->now, a->layer_now, j->q, heads, j->new_k, kv, j->new_v, kv, a->out, heads, team);
}

static ingot_status run_op(void *self, int round, uint64_t *ns) {
    attn_case *a = self;
    const int copy = round % a->row->n_copies;
    a->now = a->caches[copy / MOST_LAYERS];
    a->layer_now = copy % MOST_LAYERS;
    if (round && a->layer_now == 0) { /* every layer has run: the step is taken back, and the cache is as before it */
        ingot_cache_step_cancel(a->now);
        INGOT_TRY(begin(a, a->now));
    }
    *ns = ingot_bench_time_team(a->job->device->pool, a->job->c->protocol.cpu_time, attend, a);
    if (!round) ingot_bench_attn_judge(a->job, a->out, &a->row->checksum, &a->row->error);
    return ingot_cache_step_status(a->now);
}

/* On the copy that the operation will have at last: it is as cold. */
static ingot_status run_kernel(void *self, int round, uint64_t *ns) {
    const attn_case *a = self;
    const int copy = (round + a->row->n_copies / 2) % a->row->n_copies;
    attn_kernel k = {a->job, a->caches[copy / MOST_LAYERS], copy % MOST_LAYERS};
    *ns = ingot_bench_time_team(a->job->device->pool, a->job->c->protocol.cpu_time, ingot_bench_attn_kernel, &k);
    return INGOT_OK;
}

static ingot_status run_read(void *self, int round, uint64_t *ns) {
    attn_case *a = self;
    (void)round;
    *ns = ingot_bench_stream_read(&a->job->stream, a->job->device->pool, a->job->c->protocol.cpu_time, op_bytes(a));
    return INGOT_OK;
}

/* --- the whole --- */
static ingot_status settle(ingot_bench_attn_row *row, ingot_status s) { return ingot_bench_settle(&row->status, row->message, s); }

static ingot_status measure(attn_job *j, attn_case *cases, int n) {
    bench_item *items = ingot_alloc_array((size_t)n, 3 * sizeof *items, INGOT_MEM_OTHER);
    if (!items) return ingot_fail(INGOT_E_NOMEM, "no memory for %d plans", n);
    int n_items = 0;
    for (int i = 0; i < n; i++) {
        if (cases[i].row->status != INGOT_OK) continue;
        items[n_items++] = (bench_item){run_op, &cases[i], &cases[i].row->op};
        items[n_items++] = (bench_item){run_read, &cases[i], &cases[i].row->read};
        if (j->c->kernel) items[n_items++] = (bench_item){run_kernel, &cases[i], &cases[i].row->kernel};
    }
    ingot_status s = n_items ? ingot_bench_rounds(&j->c->protocol, items, n_items, n, "measuring") : INGOT_OK;
    for (int i = 0; i < n; i++) {
        ingot_bench_attn_row *r = cases[i].row;
        if (r->op.n && ingot_bench_ratio(&r->vs_read, &r->op, &r->read) != INGOT_OK) s = INGOT_E_NOMEM;
        if (r->kernel.n && ingot_bench_ratio(&r->vs_kernel, &r->op, &r->kernel) != INGOT_OK) s = INGOT_E_NOMEM;
    }
    ingot_dealloc(items);
    return s;
}

static ingot_status prepare(attn_job *j, attn_case *cases, int n) {
    double wanted = 0;
    size_t largest = 0;
    for (int i = 0; i < n; i++) {
        attn_case *a = &cases[i];
        if (settle(a->row, weigh(a)) != INGOT_OK) continue;
        wanted += (double)a->layer_bytes * a->row->n_copies;
        if (op_bytes(a) > largest) largest = op_bytes(a);
    }
    if (!largest) return INGOT_OK;
    wanted += (double)ingot_bench_stream_bytes(j->cold, largest);
    INGOT_TRY(ingot_bench_check_memory(wanted, "copies of the caches, so that none is read from the processor's cache,"));
    INGOT_TRY(make_inputs(j));
    INGOT_TRY(ingot_bench_attn_exact(j));
    INGOT_TRY(ingot_bench_stream_open(&j->stream, j->device->pool, j->cold, largest));
    const ingot_bench_protocol *p = &j->c->protocol;
    for (int i = 0; i < n; i++) {
        if (p->progress && !p->progress(p->progress_user, "filling the caches", (double)i / n)) return ingot_fail(INGOT_E_CANCELLED, "interrupted before the first round");
        if (cases[i].row->status == INGOT_OK && settle(cases[i].row, fill(&cases[i])) != INGOT_OK) close_case(&cases[i]);
    }
    return INGOT_OK;
}

static ingot_status check(const ingot_bench_attn_config *c, const ingot_device *device) {
    if (c->kernel && (c->n_queries != 1 || ingot_device_threads(device) != 1))
        return ingot_fail(INGOT_E_INVALID, "the back end's attention alone is measured with one query token and one thread, not with %d and %d", c->n_queries, ingot_device_threads(device));
    INGOT_TRY(ingot_bench_check_protocol(&c->protocol));
    if (c->n_queries < 1 || c->n_queries > 65536) return ingot_fail(INGOT_E_INVALID, "%d query tokens; 1 to 65536 are possible", c->n_queries);
    if (c->n_tokens < c->n_queries || c->n_tokens > 1 << 27) return ingot_fail(INGOT_E_INVALID, "a context of %d tokens with %d query tokens; %d to %d are possible", c->n_tokens, c->n_queries, c->n_queries, 1 << 27);
    if (c->n_heads < 1 || c->n_kv_heads < 1 || c->n_heads % c->n_kv_heads) return ingot_fail(INGOT_E_INVALID, "%d query heads are not a multiple of %d KV heads", c->n_heads, c->n_kv_heads);
    if (c->n_heads > 1024) return ingot_fail(INGOT_E_INVALID, "%d query heads; 1 to 1024 are possible", c->n_heads);
    if (c->head_dim < 1 || c->head_dim > INGOT_MAX_HEAD_DIM) return ingot_fail(INGOT_E_INVALID, "a head size of %d; 1 to %d are possible", c->head_dim, INGOT_MAX_HEAD_DIM);
    return INGOT_OK;
}

static void close_job(attn_job *j) {
    ingot_bench_stream_close(&j->stream);
    ingot_dealloc(j->k), ingot_dealloc(j->v), ingot_dealloc(j->q), ingot_dealloc(j->new_k), ingot_dealloc(j->new_v);
    ingot_dealloc(j->exact), ingot_dealloc(j->seqs);
}

ingot_status ingot_bench_attn(ingot_bench_attn_row *out, ingot_device *device, const ingot_bench_attn_config *c, const ingot_plan *plans, int n) {
    if (!out || !device || !c || !plans || n < 1) return ingot_fail(INGOT_E_INVALID, "%d plans, or no place for their results", n);
    for (int i = 0; i < n; i++) out[i] = (ingot_bench_attn_row){0};
    INGOT_TRY(check(c, device));
    attn_job j = {.c = c, .device = device, .n_rows = POOL_ROWS, .cold = ingot_bench_cold_bytes(&c->protocol)};
    attn_case *cases = ingot_alloc_array((size_t)n, sizeof *cases, INGOT_MEM_OTHER);
    j.seqs = ingot_alloc_array((size_t)c->n_queries, sizeof *j.seqs, INGOT_MEM_SCRATCH); /* zeros: the only sequence of every cache */
    ingot_status s = cases && j.seqs ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "no memory for %d plans", n);
    for (int i = 0; s == INGOT_OK && i < n; i++) cases[i] = (attn_case){.job = &j, .row = &out[i], .plan = &plans[i]};
    if (s == INGOT_OK) s = prepare(&j, cases, n);
    if (s == INGOT_OK) s = measure(&j, cases, n);
    for (int i = 0; cases && i < n; i++) close_case(&cases[i]);
    ingot_dealloc(cases);
    close_job(&j);
    return s;
}

void ingot_bench_attn_rows_free(ingot_bench_attn_row *rows, int n) {
    for (int i = 0; i < n; i++) {
        ingot_dealloc(rows[i].op.us);
        ingot_dealloc(rows[i].read.us);
        ingot_dealloc(rows[i].kernel.us);
        rows[i].op.us = rows[i].read.us = rows[i].kernel.us = NULL;
    }
}
