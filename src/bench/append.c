/* Storing: what the cache does with new keys and values, attention left out. */
#include "bench.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/hash.h"
#include "../cache/cache_team.h"
#include <string.h>

enum { HELD = 512, ROWS = 1024, FILL_BATCH = 512, HASHED_FROM = 256, HASHED_TO = 320, ROOM_STEPS = 8, LEAST_ROOM = 4096 };
#define USUAL_PIECE ((size_t)64 << 20)

typedef struct append_job {
    const ingot_bench_append_config *c;
    ingot_device *device;
    size_t cold, piece;       /* bytes to rotate over, and to copy in a round */
    bench_stream in, to;      /* new vectors come from `in`; in every round a piece of it is copied to `to` */
    ingot_bench_times copy;
    float *k, *v;             /* [ROWS] to fill with */
    int *seqs;                /* [n_tokens] */
} append_job;

/* A plan under test: caches of one layer by turns. */
typedef struct append_case {
    append_job *job;
    ingot_bench_append_row *row;
    const ingot_plan *plan;
    ingot_cache **caches; /* [n_copies] */
    ingot_cache *now;
    const float *new_k, *new_v;
    double in, out;       /* bytes over all counted rounds */
} append_case;

static size_t row_floats(const append_job *j) { return (size_t)j->c->n_kv_heads * (size_t)j->c->head_dim; }
static size_t input_bytes(const append_job *j) { return row_floats(j) * (size_t)j->c->n_tokens * sizeof(float); } /* of one side */
static size_t region_piece(const append_job *j) { return j->piece > 2 * input_bytes(j) ? j->piece : 2 * input_bytes(j); }
static int capacity(const append_job *j) {
    const int room = ROOM_STEPS * j->c->n_tokens;
    return HELD + INGOT_PAGE_TOKENS + (room > LEAST_ROOM ? room : LEAST_ROOM);
}

static ingot_status open_cache(const append_case *a, ingot_cache **out) {
    const append_job *j = a->job;
    const bench_shape shape = {1, j->c->n_kv_heads, j->c->n_kv_heads, j->c->head_dim, capacity(j), j->c->n_tokens > FILL_BATCH ? j->c->n_tokens : FILL_BATCH};
    return ingot_bench_cache_open(out, j->device, a->plan, &shape);
}

/* Cache i as after a short prompt, so that means are known and windows full. Prompts differ, so that blocks are full in different rounds. */
static ingot_status restart(const append_case *a, int i) {
    int seq;
    ingot_cache_seq_close(a->caches[i], 0);
    INGOT_TRY(ingot_cache_seq_open(a->caches[i], &seq));
    return ingot_cache_fill(a->caches[i], seq, HELD + i * INGOT_PAGE_TOKENS / a->row->n_copies, a->job->k, a->job->v, ROWS);
}

static ingot_status hash_stored(append_case *a) {
    const ingot_cache *cache = a->caches[0];
    const size_t cap = INGOT_PAGE_TOKENS * (2 * (size_t)a->job->c->head_dim + 4);
    uint8_t hash[INGOT_HASH_BYTES], *block = ingot_alloc(cap + INGOT_HASH_BYTES, INGOT_MEM_SCRATCH);
    if (!block) return ingot_fail(INGOT_E_NOMEM, "no memory for a block");
    memset(hash, 0, sizeof hash);
    ingot_status s = INGOT_OK;
    for (int at = HASHED_FROM; s == INGOT_OK && at < HASHED_TO; at++)
        for (int i = 0; s == INGOT_OK && i < 2 * a->job->c->n_kv_heads; i++) {
            ingot_kv_fmt f;
            memset(block, 0, cap);
            s = ingot_cache_get_block(cache, 0, 0, i % 2, i / 2, at, block, &f);
            memcpy(block + cap, hash, sizeof hash);
            ingot_hash(hash, block, cap + sizeof hash);
        }
    for (int i = 0; i < 8; i++) a->row->checksum = a->row->checksum << 8 | hash[i];
    ingot_dealloc(block);
    return s;
}

static ingot_status fill(append_case *a) {
    a->caches = ingot_alloc_array((size_t)a->row->n_copies, sizeof *a->caches, INGOT_MEM_OTHER);
    if (!a->caches) return ingot_fail(INGOT_E_NOMEM, "no memory for %d caches", a->row->n_copies);
    for (int i = 0; i < a->row->n_copies; i++) {
        INGOT_TRY(open_cache(a, &a->caches[i]));
        ingot_cache_touch(a->caches[i]);
        INGOT_TRY(restart(a, i));
    }
    return hash_stored(a);
}

static void close_case(append_case *a) {
    for (int i = 0; a->caches && i < a->row->n_copies; i++) ingot_cache_destroy(a->caches[i]);
    ingot_dealloc(a->caches);
    a->caches = NULL;
}

/* --- what is timed --- */
static void store(const ingot_team *team, void *arg) {
    const append_case *a = arg;
    const ptrdiff_t width = (ptrdiff_t)row_floats(a->job);
    ingot_cache_store_team(a->now, 0, a->new_k, width, a->new_v, width, team);
}

static double packed_bytes(const ingot_cache *cache, size_t *exact) {
    size_t packed;
    ingot_cache_attended_bytes(cache, 0, ingot_cache_seq_tokens(cache, 0), &packed, exact);
    return (double)packed;
}

static ingot_status run_op(void *self, int round, uint64_t *ns) {
    append_case *a = self;
    append_job *j = a->job;
    size_t exact;
    const int i = round % a->row->n_copies;
    a->now = a->caches[i];
    if (ingot_cache_seq_tokens(a->now, 0) + j->c->n_tokens > capacity(j)) INGOT_TRY(restart(a, i));
    a->new_k = (const float *)(const void *)ingot_bench_stream_next(&j->in, input_bytes(j));
    a->new_v = (const float *)(const void *)ingot_bench_stream_next(&j->in, input_bytes(j));
    const double before = packed_bytes(a->now, &exact);
    INGOT_TRY(ingot_cache_step_begin(a->now, j->seqs, j->c->n_tokens, NULL));
    *ns = ingot_bench_time_team(j->device->pool, j->c->protocol.cpu_time, store, a);
    const ingot_status s = ingot_cache_step_status(a->now);
    ingot_cache_step_end(a->now);
    if (!round) return s;
    a->in += 2.0 * (double)input_bytes(j);
    a->out += packed_bytes(a->now, &exact) - before;
    if (exact > (size_t)a->plan->sinks * row_floats(j) * 4) a->out += (double)input_bytes(j); /* an exact window: both sides as f16 */
    return s;
}

static ingot_status run_copy(void *self, int round, uint64_t *ns) {
    append_job *j = self;
    (void)round;
    *ns = ingot_bench_stream_copy(&j->in, &j->to, j->device->pool, j->c->protocol.cpu_time, j->piece);
    return INGOT_OK;
}

/* --- the whole --- */
static void finish(append_case *a, const ingot_bench_times *copy) {
    ingot_bench_append_row *r = a->row;
    if (!r->op.n) return;
    for (int i = 0; i < r->op.n; i++) r->mean_us += r->op.us[i] / r->op.n;
    r->bytes_in = a->in / r->op.n;
    r->bytes_out = a->out / r->op.n;
    r->copy_gb_s = (ingot_bench_summary){2e-3 * (double)a->job->piece / copy->sum.median, 2e-3 * (double)a->job->piece / copy->sum.least, copy->sum.noise_pct};
}

static ingot_status measure(append_job *j, append_case *cases, int n) {
    bench_item *items = ingot_alloc_array((size_t)n + 1, sizeof *items, INGOT_MEM_OTHER);
    if (!items) return ingot_fail(INGOT_E_NOMEM, "no memory for %d plans", n);
    int n_items = 0;
    for (int i = 0; i < n; i++)
        if (cases[i].row->status == INGOT_OK) items[n_items++] = (bench_item){run_op, &cases[i], &cases[i].row->op};
    ingot_status s = INGOT_OK;
    if (n_items) {
        items[n_items] = (bench_item){run_copy, j, &j->copy};
        s = ingot_bench_rounds(&j->c->protocol, items, n_items + 1, n_items, "storing");
    }
    for (int i = 0; i < n; i++) finish(&cases[i], &j->copy);
    ingot_dealloc(items);
    return s;
}

/* The region that vectors come from, all of it finite floats. */
static ingot_status open_inputs(append_job *j) {
    INGOT_TRY(ingot_bench_stream_open(&j->in, j->device->pool, j->cold, region_piece(j)));
    const size_t width = row_floats(j) * ROWS * sizeof(float);
    for (size_t at = 0; at < j->in.bytes; at += width) memcpy(j->in.base + at, j->k, j->in.bytes - at < width ? j->in.bytes - at : width);
    return ingot_bench_stream_open(&j->to, j->device->pool, j->cold, j->piece);
}

static ingot_status weigh(append_case *a, double *wanted) {
    ingot_cache *cache;
    ingot_cache_memory memory;
    INGOT_TRY(ingot_bench_check_plan(a->plan));
    INGOT_TRY(ingot_bench_no_memory(open_cache(a, &cache)));
    ingot_cache_memory_get(cache, &memory);
    ingot_cache_destroy(cache);
    a->row->n_copies = (int)(a->job->cold / (2 * a->job->piece)) + 2; /* so much is copied between two turns of the same cache */
    *wanted += (double)memory.capacity_bytes * a->row->n_copies;
    return INGOT_OK;
}

static ingot_status prepare(append_job *j, append_case *cases, int n) {
    double wanted = 2 * (double)ingot_bench_stream_bytes(j->cold, region_piece(j));
    bool any = false;
    for (int i = 0; i < n; i++) any |= ingot_bench_settle(&cases[i].row->status, cases[i].row->message, weigh(&cases[i], &wanted)) == INGOT_OK;
    if (!any) return INGOT_OK;
    INGOT_TRY(ingot_bench_check_memory(wanted, "caches and vectors, so that none is in the processor's cache,"));
    j->k = ingot_bench_random(ROWS, row_floats(j), 1), j->v = ingot_bench_random(ROWS, row_floats(j), 2);
    j->seqs = ingot_alloc_array((size_t)j->c->n_tokens, sizeof *j->seqs, INGOT_MEM_SCRATCH); /* zeros: the only sequence */
    if (!j->k || !j->v || !j->seqs) return ingot_fail(INGOT_E_NOMEM, "no memory for %d random tokens", ROWS);
    INGOT_TRY(open_inputs(j));
    for (int i = 0; i < n; i++)
        if (cases[i].row->status == INGOT_OK && ingot_bench_settle(&cases[i].row->status, cases[i].row->message, fill(&cases[i])) != INGOT_OK) close_case(&cases[i]);
    return INGOT_OK;
}

static ingot_status check(const ingot_bench_append_config *c) {
    INGOT_TRY(ingot_bench_check_protocol(&c->protocol));
    if (c->n_tokens < 1 || c->n_tokens > 65536) return ingot_fail(INGOT_E_INVALID, "%d tokens at once; 1 to 65536 are possible", c->n_tokens);
    if (c->n_kv_heads < 1 || c->n_kv_heads > 1024) return ingot_fail(INGOT_E_INVALID, "%d KV heads; 1 to 1024 are possible", c->n_kv_heads);
    if (c->head_dim < 1 || c->head_dim > INGOT_MAX_HEAD_DIM) return ingot_fail(INGOT_E_INVALID, "a head size of %d; 1 to %d are possible", c->head_dim, INGOT_MAX_HEAD_DIM);
    return INGOT_OK;
}

ingot_status ingot_bench_append(ingot_bench_append_row *out, ingot_device *device, const ingot_bench_append_config *c, const ingot_plan *plans, int n) {
    if (!out || !device || !c || !plans || n < 1) return ingot_fail(INGOT_E_INVALID, "%d plans, or no place for their results", n);
    for (int i = 0; i < n; i++) out[i] = (ingot_bench_append_row){0};
    INGOT_TRY(check(c));
    append_job j = {.c = c, .device = device, .cold = ingot_bench_cold_bytes(&c->protocol)};
    j.piece = j.cold < USUAL_PIECE ? j.cold : USUAL_PIECE;
    append_case *cases = ingot_alloc_array((size_t)n, sizeof *cases, INGOT_MEM_OTHER);
    ingot_status s = cases ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "no memory for %d plans", n);
    for (int i = 0; cases && i < n; i++) cases[i] = (append_case){.job = &j, .row = &out[i], .plan = &plans[i]};
    if (s == INGOT_OK) s = prepare(&j, cases, n);
    if (s == INGOT_OK) s = measure(&j, cases, n);
    for (int i = 0; cases && i < n; i++) close_case(&cases[i]);
    ingot_dealloc(cases);
    ingot_bench_stream_close(&j.in), ingot_bench_stream_close(&j.to);
    ingot_dealloc(j.copy.us), ingot_dealloc(j.k), ingot_dealloc(j.v), ingot_dealloc(j.seqs);
    return s;
}

void ingot_bench_append_rows_free(ingot_bench_append_row *rows, int n) {
    for (int i = 0; i < n; i++) {
        ingot_dealloc(rows[i].op.us);
        rows[i].op.us = NULL;
    }
}
