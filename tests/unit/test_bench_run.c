/* The measurements themselves, on small shapes: what they count and compute, not how long it takes. */
#include "bench/bench.h"
#include "base/alloc.h"
#include "cache_fixture.h"
#include <stdlib.h>

static ingot_plan plan_of(const char *kv) {
    ingot_plan plan;
    CHECK_OK(ingot_plan_parse(&plan, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1}));
    return plan;
}

static ingot_device *open_device(const char *name, int threads) {
    ingot_device *d = NULL;
    CHECK_OK(ingot_device_open(&d, name, threads));
    return d;
}

static bool stop_at_once(void *user, const char *what, double fraction) {
    int *calls = user;
    (void)what, (void)fraction;
    return ++*calls < 12;
}

TEST("bench/attention is that of the vectors that were stored") {
    ingot_device *d = open_device("cpu", 2);
    const ingot_plan plans[] = {plan_of("f16"), plan_of("q8_0 window=100 sinks=4"), plan_of("int4"), plan_of("kivi4"), plan_of("k=int4,center v=int4")};
    const double error[] = {2e-3, 0.02, 0.2, 0.2, 0.2};
    enum { N = sizeof plans / sizeof *plans };
    const ingot_bench_attn_config c = {.protocol = {.n_reps = 4, .cold_bytes = 1 << 20}, .n_tokens = 700, .n_queries = 1, .n_heads = 6, .n_kv_heads = 2, .head_dim = 64};
    ingot_bench_attn_row rows[N];
    if (CHECK_OK(ingot_bench_attn(rows, d, &c, plans, N))) {
        for (int i = 0; i < N; i++) {
            test_case("plan %d", i);
            CHECK_STATUS(rows[i].status, INGOT_OK);
            CHECK_INT(rows[i].op.n, 4);
            CHECK_INT(rows[i].read.n, 4);
            CHECK(rows[i].error > 0 && rows[i].error < error[i]);
            CHECK_NEAR(rows[i].checksum, rows[0].checksum, 30 * rows[i].error);
            CHECK(rows[i].op.sum.median > 0 && rows[i].op.sum.least <= rows[i].op.sum.median && rows[i].vs_read.median > 0);
            CHECK(rows[i].n_copies >= 2 && (double)rows[i].n_copies * (double)(rows[i].packed_bytes + rows[i].exact_bytes) >= 1 << 20);
        }
        /* 727 tokens of 2 heads, keys and values of 64: f16, and with window and sinks 104 exact ones and the rest packed in 8.5 bits. */
        CHECK_INT(rows[0].packed_bytes, 727 * 2 * 2 * 64 * 2);
        CHECK_INT(rows[0].exact_bytes, 0);
        CHECK_INT(rows[1].exact_bytes, 104 * 2 * 2 * 64 * 2);
        CHECK_INT(rows[1].packed_bytes, 623 * 2 * 2 * 68);
    }
    ingot_bench_attn_rows_free(rows, N);
    ingot_device_close(d);
}

TEST("bench/many queries and the kernel alone") {
    ingot_device *d = open_device("cpu", 1);
    const ingot_plan plan = plan_of("int4 window=64");
    ingot_bench_attn_config c = {.protocol = {.n_reps = 3, .cold_bytes = 1 << 18}, .n_tokens = 300, .n_queries = 40, .n_heads = 4, .n_kv_heads = 1, .head_dim = 128};
    ingot_bench_attn_row row;
    if (CHECK_OK(ingot_bench_attn(&row, d, &c, &plan, 1))) CHECK(row.error < 0.2);
    ingot_bench_attn_rows_free(&row, 1);
    c.kernel = true;
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_INVALID);
    c.n_queries = 1;
    if (CHECK_OK(ingot_bench_attn(&row, d, &c, &plan, 1))) CHECK(row.kernel.n == 3 && row.vs_kernel.median > 0);
    ingot_bench_attn_rows_free(&row, 1);
    ingot_device_close(d);
}

TEST("bench/what cannot be measured is said, the rest is measured") {
    ingot_device *d = open_device("ref", 1);
    const ingot_plan plans[] = {plan_of("wush3"), plan_of("int4 policy=knorm,budget=64"), plan_of("q8_0")};
    const ingot_bench_attn_config c = {.protocol = {.n_reps = 2, .cold_bytes = 1 << 16}, .n_tokens = 64, .n_queries = 1, .n_heads = 2, .n_kv_heads = 2, .head_dim = 64};
    ingot_bench_attn_row rows[3];
    ingot_bench_append_row stored[3];
    if (CHECK_OK(ingot_bench_attn(rows, d, &c, plans, 3))) {
        CHECK_STATUS(rows[0].status, INGOT_E_UNSUPPORTED);
        CHECK_HAS(rows[0].message, "calibration");
        CHECK_HAS(rows[1].message, "knorm");
        CHECK_INT(rows[2].op.n, 2);
    }
    ingot_bench_attn_rows_free(rows, 3);
    const ingot_bench_append_config a = {.protocol = c.protocol, .n_tokens = 3, .n_kv_heads = 2, .head_dim = 64};
    if (CHECK_OK(ingot_bench_append(stored, d, &a, plans, 3))) CHECK(stored[0].status == INGOT_E_UNSUPPORTED && stored[1].status == INGOT_E_UNSUPPORTED && stored[2].op.n == 2);
    ingot_bench_append_rows_free(stored, 3);
    ingot_device_close(d);
}

TEST("bench/impossible shapes and missing memory") {
    ingot_device *d = open_device("cpu", 1);
    const ingot_plan plan = plan_of("int4");
    ingot_bench_attn_row row;
    ingot_bench_attn_config c = {.protocol = {.n_reps = 1, .cold_bytes = 1}, .n_tokens = 64, .n_queries = 1, .n_heads = 9, .n_kv_heads = 2, .head_dim = 64};
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "9 query heads");
    c.n_heads = 8, c.n_queries = 65;
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_INVALID);
    c.n_queries = 1, c.head_dim = 1000;
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_INVALID);
    c.head_dim = 64, c.protocol.cold_bytes = (size_t)1 << 50;
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_NOMEM);
    CHECK_HAS(ingot_last_error(), "MiB are available");
    c.protocol.cold_bytes = 1, c.protocol.seconds = -1;
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_INVALID);
    ingot_device_close(d);
}

TEST("bench/what was finished before an interruption is kept") {
    ingot_device *d = open_device("cpu", 1);
    const ingot_plan plan = plan_of("q8_0");
    int calls = 0;
    const ingot_bench_attn_config c = {.protocol = {.n_reps = 1000, .cold_bytes = 1 << 16, .progress = stop_at_once, .progress_user = &calls}, .n_tokens = 64, .n_queries = 1,
                                       .n_heads = 2, .n_kv_heads = 2, .head_dim = 64};
    ingot_bench_attn_row row;
    CHECK_STATUS(ingot_bench_attn(&row, d, &c, &plan, 1), INGOT_E_CANCELLED);
    CHECK_INT(row.op.n, 10);
    CHECK(row.op.sum.median > 0);
    ingot_bench_attn_rows_free(&row, 1);
    ingot_device_close(d);
}

TEST("bench/stored bytes are the same on every level, and counted") {
    target list[8];
    const int n = targets(list);
    uint64_t first[3] = {0};
    const ingot_plan plans[] = {plan_of("int4"), plan_of("kivi4"), plan_of("turboquant4 window=32")};
    for (int i = 0; i < n; i++) {
        test_case("%s/%s", list[i].device, ingot_isa_name(list[i].isa));
        ingot_device *d = target_open(&list[i], 2);
        const ingot_bench_append_config c = {.protocol = {.n_reps = 3, .cold_bytes = 1 << 16}, .n_tokens = 32, .n_kv_heads = 2, .head_dim = 64};
        ingot_bench_append_row rows[3];
        if (CHECK_OK(ingot_bench_append(rows, d, &c, plans, 3))) {
            for (int p = 0; p < 3; p++) {
                CHECK_STATUS(rows[p].status, INGOT_OK);
                if (!i) first[p] = rows[p].checksum;
                CHECK(rows[p].checksum == first[p] && first[p]);
                CHECK_NEAR(rows[p].bytes_in, 32 * 2 * 2 * 64 * 4, 0);
            }
            CHECK_NEAR(rows[0].bytes_out, 32 * 2 * 2 * 64 * 5 / 8, 0);
            CHECK(rows[1].bytes_out > rows[0].bytes_out && rows[2].bytes_out > 32 * 2 * 2 * 64 * 2); /* these keep exact tokens as well */
        }
        ingot_bench_append_rows_free(rows, 3);
        ingot_device_close(d);
    }
}

TEST("bench/bandwidth") {
    ingot_device *d = open_device("cpu", 2);
    const ingot_bench_protocol p = {.n_reps = 3, .cold_bytes = 1 << 20};
    ingot_bench_copy_result r;
    if (CHECK_OK(ingot_bench_copy(&r, d, &p, 1 << 18))) CHECK(r.read.n == 3 && r.read_gb_s > 0 && r.copy_gb_s > 0 && r.n_bytes == 1 << 18);
    ingot_bench_copy_free(&r);
    ingot_device_close(d);
}

TEST("bench/a filled cache attends like one that was fed") {
    static const char *const kv[] = {"int4", "int4 window=70 sinks=3", "kivi4", "k=q8_0,center v=q8_0"};
    for (size_t i = 0; i < sizeof kv / sizeof *kv; i++) {
        test_case("%s", kv[i]);
        ingot_device *d = open_device("cpu", 2);
        enum { HEADS = 2, DIM = 64, TOKENS = 400, ROWS = 150 };
        const bench_shape shape = {2, 2 * HEADS, HEADS, DIM, TOKENS + 1, 128};
        const ingot_plan plan = plan_of(kv[i]);
        float *k = ingot_bench_random(ROWS, HEADS * DIM, 1), *v = ingot_bench_random(ROWS, HEADS * DIM, 2), *q = ingot_bench_random(128, 2 * HEADS * DIM, 3);
        float *out = ingot_bench_random(128, 2 * HEADS * DIM, 4), want[2 * HEADS * DIM], got[2 * HEADS * DIM];
        int seqs[128] = {0}, seq;
        ingot_cache *fed = NULL, *filled = NULL;
        CHECK_OK(ingot_bench_cache_open(&fed, d, &plan, &shape));
        CHECK_OK(ingot_bench_cache_open(&filled, d, &plan, &shape));
        CHECK_OK(ingot_cache_seq_open(fed, &seq));
        CHECK_OK(ingot_cache_seq_open(filled, &seq));
        CHECK_OK(ingot_cache_fill(filled, seq, TOKENS, k, v, ROWS));
        for (int at = 0; at < TOKENS;) { /* the same rows, in steps of the same sizes */
            const int row = at % ROWS, left = TOKENS - at < ROWS - row ? TOKENS - at : ROWS - row, n = left < 128 ? left : 128;
            CHECK_OK(ingot_cache_step_begin(fed, seqs, n, NULL));
            for (int l = 0; l < 2; l++) CHECK_OK(ingot_cache_layer(fed, l, q, k + row * HEADS * DIM, v + row * HEADS * DIM, out));
            ingot_cache_step_end(fed);
            at += n;
        }
        CHECK_INT(ingot_cache_seq_tokens(filled, seq), TOKENS);
        CHECK_OK(ingot_cache_step_begin(fed, seqs, 1, NULL));
        CHECK_OK(ingot_cache_step_begin(filled, seqs, 1, NULL));
        for (int l = 0; l < 2; l++) {
            CHECK_OK(ingot_cache_layer(fed, l, q, k, v, want));
            CHECK_OK(ingot_cache_layer(filled, l, q, k, v, got));
            CHECK_MEM(got, want, sizeof want);
        }
        ingot_cache_step_cancel(fed), ingot_cache_step_cancel(filled);
        ingot_cache_destroy(fed), ingot_cache_destroy(filled);
        ingot_dealloc(k), ingot_dealloc(v), ingot_dealloc(q), ingot_dealloc(out);
        ingot_device_close(d);
    }
}

/* Every allocation of a measurement may fail: an error, and nothing leaks (the sanitizers look). */
TEST("bench/every allocation may fail") {
    ingot_device *d = open_device("cpu", 1);
    const ingot_plan plan = plan_of("int4 window=32");
    const ingot_bench_attn_config c = {.protocol = {.n_reps = 1, .cold_bytes = 1 << 12}, .n_tokens = 40, .n_queries = 1, .n_heads = 1, .n_kv_heads = 1, .head_dim = 64};
    const ingot_bench_append_config a = {.protocol = c.protocol, .n_tokens = 1, .n_kv_heads = 1, .head_dim = 64};
    for (int what = 0; what < 2; what++) {
        bool failed = true;
        for (long n = 1; failed && n < 200; n++) {
            ingot_bench_attn_row row;
            ingot_bench_append_row stored;
            test_case("%s, allocation %ld", what ? "append" : "attn", n);
            ingot_mem_fail_at(n);
            const ingot_status s = what ? ingot_bench_append(&stored, d, &a, &plan, 1) : ingot_bench_attn(&row, d, &c, &plan, 1);
            ingot_mem_fail_at(0);
            const ingot_status one = what ? stored.status : row.status;
            failed = s != INGOT_OK || one != INGOT_OK;
            if (failed) CHECK_STATUS(s != INGOT_OK ? s : one, INGOT_E_NOMEM);
            else CHECK(n > 10);
            if (what) ingot_bench_append_rows_free(&stored, 1);
            else ingot_bench_attn_rows_free(&row, 1);
        }
        CHECK(!failed);
    }
    ingot_device_close(d);
}
