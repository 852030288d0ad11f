/* Sequences: fork, trim, cancel, bad input, capacity, memory. */
#include "base/alloc.h"
#include "cache_fixture.h"
#include "method/method.h"
#include <stdlib.h>

static target best(void) { return (target){"cpu", ingot_cpu_get()->isa}; }

static const cache_case two_layers = {.layers = {{4, 2, 64, 64, 0, 0.125f, false}, {4, 2, 64, 64, 50, 0.125f, false}}, .n_layers = 2, .kv = "int4"};

static fixture *open_fixture(const cache_case *spec) {
    fixture *f = malloc(sizeof *f);
    const target t = best();
    CHECK(fixture_open(f, spec, &t, 2));
    return f;
}

static void done(fixture *f) {
    fixture_close(f);
    free(f);
}

static int open_seq(fixture *f) {
    int seq = -1;
    CHECK_OK(ingot_cache_seq_open(f->cache, &seq));
    f->n[seq] = 0;
    return seq;
}

static int fork_seq(fixture *f, int from, int n) {
    int seq = -1;
    CHECK_OK(ingot_cache_seq_fork(f->cache, &seq, from, n));
    if (seq < 0) return 0;
    memcpy(f->tag[seq], f->tag[from], sizeof f->tag[seq]);
    f->n[seq] = n;
    return seq;
}

static void trim_seq(fixture *f, int seq, int n) {
    CHECK_OK(ingot_cache_trim(f->cache, seq, n));
    f->n[seq] = n;
}

/* The last step's rows (n tokens of seq, from first row `row`) against the oracle. */
static void check_last(const fixture *f, int seq, int n, int exact_from) {
    for (int l = 0; l < f->spec.n_layers; l++) {
        const size_t width = out_width(&f->spec, l);
        float *want = malloc(sizeof(float) * width * (size_t)n);
        fixture_expect(f, l, seq, f->n[seq] - n, f->n[seq], exact_from, want);
        CHECK_NMSE(f->out[l], want, width * (size_t)n, 1e-7);
        free(want);
    }
}

static ingot_cache_memory memory(const fixture *f) {
    ingot_cache_memory m;
    ingot_cache_memory_get(f->cache, &m);
    return m;
}

TEST("cache/a fork shares pages and neither disturbs the other") {
    for (int windowed = 0; windowed < 2; windowed++) {
        cache_case spec = two_layers;
        spec.window = windowed * 24, spec.sinks = windowed * 3;
        test_case("windowed %d", windowed);
        fixture *f = open_fixture(&spec), *untouched = open_fixture(&spec);
        const int a = open_seq(f), u = open_seq(untouched);
        fixture_feed(f, a, 1, 200), fixture_feed(untouched, u, 1, 200);
        const size_t before = memory(f).resident_bytes;
        const int b = fork_seq(f, a, 200);
        if (!windowed) CHECK_INT(memory(f).resident_bytes, before);
        for (int i = 0; i < 70; i += 10) {
            fixture_feed(f, b, 2, 10);
            check_last(f, b, 10, 0);
        }
        CHECK(same_rows(f, a, untouched, u, 200));
        fixture_feed(f, a, 1, 9), fixture_feed(untouched, u, 1, 9);
        check_last(f, a, 9, 0);
        CHECK(same_rows(f, a, untouched, u, 209));
        ingot_cache_seq_close(f->cache, a);
        fixture_feed(f, b, 3, 4);
        check_last(f, b, 4, 0);
        done(f), done(untouched);
    }
}

TEST("cache/parent and child append to their shared page in one step") {
    fixture *f = open_fixture(&two_layers), *plain = open_fixture(&two_layers);
    const int a = open_seq(f);
    fixture_feed(f, a, 1, 70);
    const int b = fork_seq(f, a, 70), c = fork_seq(f, b, 69);
    const int seqs[] = {a, b, c, b, a, c};
    const uint32_t tags[] = {1, 2, 3, 2, 1, 3};
    fixture_step(f, seqs, tags, 6);
    const int ids[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        const int u = open_seq(plain);
        for (int p = 0; p < f->n[ids[i]]; p++) fixture_feed(plain, u, f->tag[ids[i]][p], 1);
        CHECK(same_rows(f, ids[i], plain, u, f->n[ids[i]]));
    }
    for (int i = 0; i < 3; i++) ingot_cache_seq_close(f->cache, ids[i]);
    const size_t tables = memory(f).resident_bytes;
    ingot_cache_seq_close(plain->cache, 0), ingot_cache_seq_close(plain->cache, 1), ingot_cache_seq_close(plain->cache, 2);
    CHECK_INT(memory(plain).resident_bytes, tables); /* every page came back */
    CHECK_INT(memory(f).elements, 0);
    done(f), done(plain);
}

TEST("cache/after a trim everything is as if it had never been longer") {
    cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0)}, .n_layers = 1, .kv = "int4"};
    fixture *f = open_fixture(&spec), *plain = open_fixture(&spec);
    const int a = open_seq(f), u = open_seq(plain);
    fixture_feed(f, a, 1, 150), fixture_feed(plain, u, 1, 100);
    trim_seq(f, a, 100);
    CHECK_INT(memory(f).resident_bytes, memory(plain).resident_bytes);
    fixture_feed(f, a, 2, 60), fixture_feed(plain, u, 2, 60);
    check_last(f, a, 60, 0);
    CHECK(same_rows(f, a, plain, u, 160));
    trim_seq(f, a, 0);
    CHECK_INT(memory(f).elements, 0);
    fixture_feed(f, a, 5, 3);
    check_last(f, a, 3, 0);
    done(f), done(plain);
}

TEST("cache/after a trim the exact window starts where packing had got to") {
    cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0)}, .n_layers = 1, .kv = "int4", .window = 40, .sinks = 2};
    fixture *f = open_fixture(&spec);
    const int a = open_seq(f);
    fixture_feed(f, a, 1, 200); /* packed below 160 */
    trim_seq(f, a, 175);
    fixture_feed(f, a, 2, 20);
    check_last(f, a, 20, 160);
    trim_seq(f, a, 100);
    fixture_feed(f, a, 3, 90);
    check_last(f, a, 90, 100);
    done(f);
}

TEST("cache/a sliding layer refuses to go back to what it dropped") {
    fixture *f = open_fixture(&two_layers);
    const int a = open_seq(f);
    int child;
    fixture_feed(f, a, 1, 200);
    CHECK_STATUS(ingot_cache_trim(f->cache, a, 60), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "60 of 200");
    CHECK_HAS(ingot_last_error(), "sliding window of 50");
    CHECK_STATUS(ingot_cache_seq_fork(f->cache, &child, a, 60), INGOT_E_INVALID);
    CHECK_INT(child, -1);
    CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 200);
    CHECK_STATUS(ingot_cache_trim(f->cache, a, 201), INGOT_E_INVALID);
    CHECK_STATUS(ingot_cache_trim(f->cache, a, -1), INGOT_E_INVALID);
    trim_seq(f, a, 180);
    fixture_feed(f, a, 2, 5);
    check_last(f, a, 5, 0);
    trim_seq(f, a, 0);
    fixture_feed(f, a, 3, 5);
    check_last(f, a, 5, 0);
    done(f);
}

TEST("cache/an exact window longer than the sliding one keeps the page that is being packed") {
    cache_case spec = {.layers = {shape_of(2, 1, 64, 64, 0), shape_of(2, 1, 64, 64, 97)}, .n_layers = 2, .kv = "int4", .window = 130};
    fixture *f = open_fixture(&spec);
    ingot_cache_memory before, after;
    ingot_cache_memory_get(f->cache, &before);
    const int a = open_seq(f);
    fixture_feed(f, a, 1, 166); /* 36 are packed, and a query at 166 sees none of them in the sliding layer */
    const int b = open_seq(f);
    fixture_feed(f, b, 2, 140);
    int child;
    CHECK_OK(ingot_cache_seq_fork(f->cache, &child, b, 140));
    fixture_feed(f, a, 1, 60); /* goes on in its own page, whoever else shares one */
    check_last(f, a, 60, 0);
    ingot_cache_seq_close(f->cache, a);
    ingot_cache_seq_close(f->cache, b);
    ingot_cache_seq_close(f->cache, child);
    ingot_cache_memory_get(f->cache, &after);
    CHECK_INT(after.resident_bytes, before.resident_bytes);
    done(f);
}

TEST("cache/a cancelled step leaves no trace") {
    fixture *f = open_fixture(&two_layers), *plain = open_fixture(&two_layers);
    const int a = open_seq(f), u = open_seq(plain);
    fixture_feed(f, a, 1, 90), fixture_feed(plain, u, 1, 90);
    const size_t before = memory(f).resident_bytes;
    int seqs[70];
    uint32_t tags[70];
    for (int i = 0; i < 70; i++) seqs[i] = a, tags[i] = 9;
    fixture_step_open(f, seqs, tags, 70);
    ingot_cache_step_cancel(f->cache);
    f->n[a] = 90;
    CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 90);
    CHECK_INT(memory(f).resident_bytes, before);
    fixture_feed(f, a, 2, 30), fixture_feed(plain, u, 2, 30);
    check_last(f, a, 30, 0);
    CHECK(same_rows(f, a, plain, u, 120));
    done(f), done(plain);
}

TEST("cache/a step cancelled between layers keeps all layers together") {
    cache_case spec = {.layers = {shape_of(2, 1, 64, 64, 0), shape_of(2, 1, 64, 64, 0)}, .n_layers = 2, .kv = "int4", .window = 40};
    fixture *f = open_fixture(&spec);
    const int a = open_seq(f);
    float q[128] = {0}, k[64] = {0}, v[64] = {0}, out[128];
    fixture_feed(f, a, 1, 150); /* packed below 110, ring of 64 */
    for (int i = 0; i < 3; i++) {
        int seqs[30];
        float many[30 * 128] = {0}, got[30 * 128];
        for (int s = 0; s < 30; s++) seqs[s] = a;
        CHECK_OK(ingot_cache_step_begin(f->cache, seqs, 30, NULL));
        CHECK_OK(ingot_cache_layer(f->cache, 0, many, many, many, got));
        ingot_cache_step_cancel(f->cache); /* layer 0 has lost positions below 150 + 30 - 64 = 116 from its ring */
    }
    CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 150);
    fixture_feed(f, a, 2, 4);
    /* Layer 1 is as if nothing had been. In layer 0 they have come back as what they were packed to, and four of them were packed once more. */
    float want[4 * 128];
    fixture_expect(f, 1, a, 150, 154, 110, want);
    CHECK_NMSE(f->out[1], want, 4 * 128, 1e-7);
    fixture_expect(f, 0, a, 150, 154, 116, want);
    CHECK_NMSE(f->out[0], want, 4 * 128, 1e-3);
    CHECK_OK(ingot_cache_step_begin(f->cache, &a, 1, NULL));
    CHECK_OK(ingot_cache_layer(f->cache, 1, q, k, v, out));
    CHECK_STATUS(ingot_cache_layer(f->cache, 1, q, k, v, out), INGOT_E_INVALID);
    ingot_cache_step_end(f->cache); /* not all layers ran: the same as a cancel */
    CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 154);
    done(f);
}

TEST("cache/keys and values that are not finite are refused") {
    for (int windowed = 0; windowed < 2; windowed++) {
        cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0)}, .n_layers = 1, .kv = "int4", .window = windowed * 8};
        fixture *f = open_fixture(&spec), *plain = open_fixture(&spec);
        const int a = open_seq(f), u = open_seq(plain);
        fixture_feed(f, a, 1, 20), fixture_feed(plain, u, 1, 20);
        static float q[3 * 256], k[3 * 128], v[3 * 128], out[3 * 256];
        const int seqs[] = {a, a, a};
        const float wrong[] = {NAN, INFINITY, -INFINITY};
        for (int i = 0; i < 3; i++) {
            CHECK_OK(ingot_cache_step_begin(f->cache, seqs, 3, NULL));
            (i == 1 ? v : k)[128 + 64 + 17] = wrong[i];
            CHECK_STATUS(ingot_cache_layer(f->cache, 0, q, k, v, out), INGOT_E_INVALID);
            CHECK_HAS(ingot_last_error(), i == 1 ? "v of layer 0, KV head 1, token 1" : "k of layer 0, KV head 1, token 1");
            CHECK_HAS(ingot_last_error(), "1 vector of this layer and step");
            if (i == 2)
                ingot_cache_step_end(f->cache); /* gives the step up as well */
            else
                ingot_cache_step_cancel(f->cache);
            k[128 + 64 + 17] = v[128 + 64 + 17] = 0;
        }
        CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 20);
        fixture_feed(f, a, 2, 30), fixture_feed(plain, u, 2, 30);
        CHECK(same_rows(f, a, plain, u, 50));
        done(f), done(plain);
    }
}

TEST("cache/huge but finite values stay finite") {
    cache_case spec = {.layers = {shape_of(1, 1, 64, 64, 0)}, .n_layers = 1, .kv = "f16"};
    static const char *const kv[] = {"f16", "q8_0", "int4", "int4,hadamard"};
    for (int i = 0; i < 4; i++) {
        spec.kv = kv[i];
        test_case("%s", kv[i]);
        fixture *f = open_fixture(&spec);
        const int a = open_seq(f);
        float q[64] = {0}, k[64], v[64], out[64];
        for (int j = 0; j < 64; j++) k[j] = j % 2 ? 3e37f : -3e37f, v[j] = j % 3 ? 1e30f : 1e-30f;
        CHECK_OK(ingot_cache_step_begin(f->cache, &a, 1, NULL));
        CHECK_OK(ingot_cache_layer(f->cache, 0, q, k, v, out));
        for (int j = 0; j < 64; j++) CHECK(isfinite(out[j]));
        done(f);
    }
}

TEST("cache/a full cache says so and stays intact") {
    cache_case spec = {.layers = {shape_of(2, 1, 64, 64, 0)}, .n_layers = 1, .kv = "int4", .max_tokens = 130, .max_seqs = 2, .max_batch = 100};
    fixture *f = open_fixture(&spec), *plain = open_fixture(&spec);
    const int a = open_seq(f), u = open_seq(plain);
    fixture_feed(f, a, 1, 100), fixture_feed(plain, u, 1, 100);
    int seqs[100], positions[100], extra;
    for (int i = 0; i < 100; i++) seqs[i] = a;
    CHECK_STATUS(ingot_cache_step_begin(f->cache, seqs, 31, positions), INGOT_E_FULL);
    CHECK_HAS(ingot_last_error(), "100");
    CHECK_HAS(ingot_last_error(), "31");
    CHECK_HAS(ingot_last_error(), "130");
    CHECK(same_rows(f, a, plain, u, 100));
    CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 100);
    fixture_feed(f, a, 1, 30), fixture_feed(plain, u, 1, 30);
    CHECK(same_rows(f, a, plain, u, 130));
    const int b = open_seq(f);
    fixture_feed(f, b, 2, 64);
    CHECK_STATUS(ingot_cache_seq_open(f->cache, &extra), INGOT_E_FULL);
    CHECK_INT(extra, -1);
    seqs[0] = b;
    CHECK_STATUS(ingot_cache_step_begin(f->cache, seqs, 1, NULL), INGOT_E_FULL);
    CHECK_HAS(ingot_last_error(), "194"); /* 130 + 64 held: more than the 130 promised, no page left */
    CHECK(same_rows(f, a, plain, u, 130));
    ingot_cache_seq_close(f->cache, a);
    fixture_feed(f, b, 2, 66);
    check_last(f, b, 66, 0);
    done(f), done(plain);
}

TEST("cache/bad calls are refused with the value that was wrong") {
    fixture *f = open_fixture(&two_layers);
    const int a = open_seq(f);
    int seqs[300] = {0};
    float x[512] = {0};
    CHECK_STATUS(ingot_cache_layer(f->cache, 0, x, x, x, x), INGOT_E_INVALID);
    CHECK_STATUS(ingot_cache_step_begin(f->cache, seqs, 0, NULL), INGOT_E_INVALID);
    CHECK_STATUS(ingot_cache_step_begin(f->cache, seqs, 257, NULL), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "257");
    seqs[1] = 4;
    CHECK_STATUS(ingot_cache_step_begin(f->cache, seqs, 2, NULL), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "sequence 4");
    CHECK_OK(ingot_cache_step_begin(f->cache, &a, 1, NULL));
    CHECK_STATUS(ingot_cache_step_begin(f->cache, &a, 1, NULL), INGOT_E_INVALID);
    CHECK_STATUS(ingot_cache_layer(f->cache, 2, x, x, x, x), INGOT_E_INVALID);
    CHECK_STATUS(ingot_cache_trim(f->cache, a, 0), INGOT_E_INVALID);
    ingot_cache_step_cancel(f->cache);
    done(f);
}

static ingot_status create_with(ingot_device *device, ingot_layer_shape shape, const char *kv, int max_tokens, int max_seqs, int max_batch) {
    ingot_cache *cache = NULL;
    ingot_cache_config config = {.layers = &shape, .n_layers = 1, .max_tokens = max_tokens, .max_seqs = max_seqs, .max_batch = max_batch};
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1}));
    const ingot_status s = ingot_cache_create(&cache, device, &config);
    if (s) CHECK(cache == NULL);
    ingot_cache_destroy(cache);
    return s;
}

TEST("cache/shapes and capacities that cannot be are refused") {
    const target t = best();
    ingot_device *d = target_open(&t, 1);
    const ingot_layer_shape good = shape_of(4, 2, 64, 64, 0);
    ingot_layer_shape s = good;
    CHECK_OK(create_with(d, good, "int4", 100, 1, 8));
    s.n_kv_heads = 3;
    CHECK_STATUS(create_with(d, s, "int4", 100, 1, 8), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "3 KV heads");
    s = good, s.k_dim = 40;
    CHECK_STATUS(create_with(d, s, "int4", 100, 1, 8), INGOT_E_UNSUPPORTED);
    CHECK_HAS(ingot_last_error(), "layer 0: int4 cannot store vectors of 40 elements");
    s = good, s.v_dim = 528;
    CHECK_STATUS(create_with(d, s, "f16", 100, 1, 8), INGOT_E_UNSUPPORTED);
    s = good, s.v_dim = 176;
    CHECK_STATUS(create_with(d, s, "int4,hadamard", 100, 1, 8), INGOT_E_UNSUPPORTED);
    CHECK_HAS(ingot_last_error(), "hadamard");
    s = good, s.scale = NAN;
    CHECK_STATUS(create_with(d, s, "int4", 100, 1, 8), INGOT_E_INVALID);
    CHECK_STATUS(create_with(d, good, "int4", 0, 1, 8), INGOT_E_INVALID);
    CHECK_STATUS(create_with(d, good, "int4", 100, 0, 8), INGOT_E_INVALID);
    CHECK_STATUS(create_with(d, good, "int4", 100, 1, 0), INGOT_E_INVALID);
    CHECK_STATUS(create_with(d, good, "int4", 1 << 29, 1, 8), INGOT_E_INVALID);
    ingot_device_close(d);
}

TEST("cache/creation survives the failure of every allocation") {
    const target t = best();
    ingot_device *d = target_open(&t, 2);
    const size_t kv = ingot_mem_bytes(INGOT_MEM_KV), other = ingot_mem_bytes(INGOT_MEM_OTHER), scratch = ingot_mem_bytes(INGOT_MEM_SCRATCH);
    ingot_cache_config config = {.layers = two_layers.layers, .n_layers = 2, .max_tokens = 500, .max_seqs = 2, .max_batch = 32};
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "int4", .window = 64, .sinks = 4}));
    int failures = 0;
    for (long n = 1; n < 100; n++) {
        ingot_cache *cache = NULL;
        ingot_mem_fail_at(n);
        const ingot_status s = ingot_cache_create(&cache, d, &config);
        ingot_mem_fail_at(0);
        ingot_cache_destroy(cache);
        CHECK_INT(ingot_mem_bytes(INGOT_MEM_KV), kv);
        CHECK_INT(ingot_mem_bytes(INGOT_MEM_OTHER), other);
        CHECK_INT(ingot_mem_bytes(INGOT_MEM_SCRATCH), scratch);
        if (!s) break;
        CHECK_INT(s, INGOT_E_NOMEM);
        failures++;
    }
    CHECK(failures > 10);
    ingot_device_close(d);
}

TEST("cache/nothing is allocated after creation") {
    cache_case spec = two_layers;
    spec.window = 30, spec.sinks = 2, spec.kv = "int4,hadamard";
    fixture *f = open_fixture(&spec);
    const long before = ingot_mem_violations();
    ingot_mem_forbid(true);
    const int a = open_seq(f);
    for (int i = 0; i < 3; i++) fixture_feed(f, a, 1, 100);
    const int b = fork_seq(f, a, 290);
    fixture_feed(f, b, 2, 1), fixture_feed(f, a, 1, 1);
    CHECK_OK(ingot_cache_trim(f->cache, a, 295));
    ingot_cache_seq_close(f->cache, b);
    ingot_mem_forbid(false);
    CHECK_INT(ingot_mem_violations(), before);
    done(f);
}

/* Only the positions matter here: one content for all tokens. */
static void grow(ingot_cache *cache, int seq, const ingot_layer_shape *s, int n) {
    int seqs[512];
    float *x = calloc(512, sizeof(float) * (size_t)(s->n_heads * s->k_dim));
    for (int i = 0; i < 512; i++) seqs[i] = seq;
    for (int at = 0; at < n; at += 512) {
        CHECK_OK(ingot_cache_step_begin(cache, seqs, n - at < 512 ? n - at : 512, NULL));
        CHECK_OK(ingot_cache_layer(cache, 0, x, x, x, x));
        ingot_cache_step_end(cache);
    }
    free(x);
}

TEST("cache/resident bytes are what the method claims") {
    static const struct { const char *kv; int window, n; } rows[] = {
        {"f16", 0, 8192}, {"q8_0", 0, 8192}, {"int4,group=128", 0, 8192}, {"int4", 128, 32768}};
    const target t = best();
    ingot_device *d = target_open(&t, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ingot_layer_shape s = shape_of(1, 1, 128, 128, 0);
        const int n = rows[i].n;
        ingot_cache_config config = {.layers = &s, .n_layers = 1, .max_tokens = n, .max_seqs = 1, .max_batch = 512};
        ingot_cache_memory m;
        ingot_cache *cache;
        int seq;
        test_case("%s window %d", rows[i].kv, rows[i].window);
        CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = rows[i].kv, .window = rows[i].window, .sinks = -1}));
        const size_t before = ingot_mem_bytes(INGOT_MEM_KV);
        if (!CHECK_OK(ingot_cache_create(&cache, d, &config))) return;
        CHECK_OK(ingot_cache_seq_open(cache, &seq));
        grow(cache, seq, &s, n);
        ingot_cache_memory_get(cache, &m);
        const double claim = (ingot_side_plan_bits(&config.plan.k, false, 128) + ingot_side_plan_bits(&config.plan.v, true, 128)) * 128.0 * n / 8;
        CHECK_NEAR((double)m.resident_bytes / claim, 1.0, 0.03);
        CHECK(m.capacity_bytes >= m.resident_bytes);
        CHECK_NEAR((double)(ingot_mem_bytes(INGOT_MEM_KV) - before), (double)m.capacity_bytes, 0);
        CHECK_INT(m.n_tokens, n);
        CHECK_INT(m.elements, (int64_t)n * 256);
        CHECK_INT(m.f16_bytes, (int64_t)n * 512);
        ingot_cache_destroy(cache);
    }
    ingot_device_close(d);
}

TEST("cache/sliding layers hold no more than their window") {
    cache_case spec = {.layers = {shape_of(2, 1, 64, 64, 100)}, .n_layers = 1, .kv = "int4", .max_tokens = 200};
    fixture *f = open_fixture(&spec);
    const int a = open_seq(f);
    fixture_feed(f, a, 1, 150);
    const size_t page = 64 * (size_t)(5.0 / 8 * 128), tables = memory(f).resident_bytes - 3 * page;
    for (int i = 0; i < 5; i++) fixture_feed(f, a, 1, 200); /* far past max_tokens: it counts for full layers only */
    CHECK_INT(ingot_cache_seq_tokens(f->cache, a), 1150);
    const size_t pages = (memory(f).resident_bytes - tables) / page;
    CHECK(pages >= 2 && pages <= 3);
    CHECK_INT(memory(f).f16_bytes, 100 * 128 * 2);
    done(f);
}
