/* The cache with every method of the registry: attention against the oracle, the same bytes however a text is cut, memory as claimed, and blocks of several tokens
 * under trim, fork and cancel. */
#include "cache_fixture.h"
#include <stdlib.h>

static int n_methods(void) { return ingot_part_count(INGOT_PART_METHOD); }
static const char *method_name(int i) { return ingot_part_get(INGOT_PART_METHOD, i)->name; }

static fixture *open_on(const cache_case *spec, const target *t, int *seq) {
    fixture *f = malloc(sizeof *f);
    if (!fixture_open(f, spec, t, 2) || !CHECK_OK(ingot_cache_seq_open(f->cache, seq))) {
        free(f);
        return NULL;
    }
    f->n[*seq] = 0;
    return f;
}

static void done(fixture *f) {
    fixture_close(f);
    free(f);
}

/* Outputs lie within float rounding, or two-digit integers' where those are used; QJL's and Prod's keys have terms that nearly cancel. */
static void check_method(const char *kv, int window, int sinks, const target *t, const ingot_calibration *cal) {
    static const int steps[] = {1, 5, 64, 1, 70, 3, 120, 1, 2};
    const size_t n_steps = strstr(kv, "center") ? 9 : 6; /* nothing is centred before 256 tokens are there */
    cache_case spec = {.layers = {shape_of(6, 2, 64, 64, 0)}, .n_layers = 1, .kv = kv, .window = window, .sinks = sinks, .calibration = cal};
    test_case("%s/%s %s window %d sinks %d", t->device, ingot_isa_name(t->isa), kv, window, sinks);
    int seq;
    fixture *f = open_on(&spec, t, &seq);
    if (!f) return;
    for (size_t i = 0; i < n_steps; i++) {
        const size_t n = (size_t)steps[i] * out_width(&spec, 0);
        float *want = malloc(n * sizeof *want);
        fixture_feed(f, seq, 3, steps[i]);
        fixture_expect(f, 0, seq, f->n[seq] - steps[i], f->n[seq], 0, want);
        if (!CHECK_NMSE(f->out[0], want, n, 1e-7)) i = sizeof steps;
        free(want);
    }
    done(f);
}

TEST("cache/every method attends to what it stored") {
    const ingot_layer_shape shape = shape_of(6, 2, 64, 64, 0);
    ingot_calibration *cal = made_up_calibration(&shape, 1);
    target list[8];
    const int n = targets(list);
    for (int i = 0; i < n_methods(); i++)
        for (int t = 0; t < n; t++) {
            if (list[t].isa != INGOT_ISA_REF && t != n - 1 && i % 4) continue; /* levels between the lowest and the highest: some */
            check_method(method_name(i), 0, 0, &list[t], cal);
            check_method(method_name(i), 20, 3, &list[t], cal);
        }
    static const char *const more[] = {"int4,center", "turboquant4,center", "turboquant3,center,scale=paper", "int4,haar", "int4,block_hadamard", "k=kivi4,group=64,mean v=int4",
                                       "k=int4,smooth,hadamard v=q8_0", "k=turboquant4,mean,whiten v=turboquant3,whiten", "k=qjl v=f16", "k=f16 v=kivi2"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) check_method(more[i], 9, 4, &list[n - 1], cal), check_method(more[i], 0, 0, &list[0], cal);
    ingot_calibration_close(cal);
}

TEST("cache/layers of their own formats") {
    target list[8];
    const int n = targets(list);
    cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0), shape_of(4, 2, 64, 64, 40), shape_of(2, 1, 80, 80, 0)}, .n_layers = 3,
                       .kv = "int4 layers=0=kivi2 layers=1=q8_0,hadamard/f16", .window = 10, .sinks = 2};
    int seq;
    fixture *f = open_on(&spec, &list[n - 1], &seq);
    if (!f) return;
    for (int i = 0; i < 4; i++) {
        fixture_feed(f, seq, 9, 60);
        for (int l = 0; l < 3; l++) {
            const size_t size = 60 * out_width(&spec, l);
            float *want = malloc(size * sizeof *want);
            fixture_expect(f, l, seq, f->n[seq] - 60, f->n[seq], 0, want);
            CHECK_NMSE(f->out[l], want, size, 1e-7);
            free(want);
        }
    }
    done(f);
}

TEST("cache/every method stores the same bytes however a text is cut") {
    static const int chunks[] = {150, 50, 15, 7};
    const cache_case shape = {.layers = {shape_of(2, 1, 64, 64, 0)}, .n_layers = 1};
    ingot_calibration *cal = made_up_calibration(shape.layers, 1);
    const target best = {"cpu", ingot_cpu_get()->isa};
    for (int i = 0; i < n_methods(); i++)
        for (int windowed = 0; windowed < 2; windowed++) {
            cache_case spec = shape;
            spec.kv = method_name(i), spec.window = windowed * 21, spec.sinks = windowed * 2, spec.calibration = cal;
            int one, many;
            fixture *base = open_on(&spec, &best, &one);
            if (!base) return;
            for (int t = 0; t < 150; t++) fixture_feed(base, one, 7, 1);
            for (int c = 0; c < 4; c++) {
                test_case("%s window %d, chunks of %d", spec.kv, spec.window, chunks[c]);
                fixture *f = open_on(&spec, &best, &many);
                for (int at = 0; at < 150; at += chunks[c]) fixture_feed(f, many, 7, 150 - at < chunks[c] ? 150 - at : chunks[c]);
                CHECK(same_rows(base, one, f, many, 150));
                const int last = (150 - 1) % chunks[c];
                CHECK_NMSE(f->out[0] + (size_t)last * out_width(&spec, 0), base->out[0], out_width(&spec, 0), 1e-7);
                done(f);
            }
            done(base);
        }
    ingot_calibration_close(cal);
}

/* 32768 tokens as 32 sequences, so that their attention is short; four heads, so that the page tables are as small beside the pages as in models. */
static void check_memory(ingot_device *device, const char *kv, const ingot_calibration *cal) {
    enum { SEQS = 32, TOKENS = 1024, HEADS = 4, WIDTH = HEADS * 64 };
    const ingot_layer_shape s = shape_of(HEADS, HEADS, 64, 64, 0);
    ingot_cache_config config = {.layers = &s, .n_layers = 1, .max_tokens = SEQS * TOKENS, .max_seqs = SEQS, .max_batch = TOKENS, .calibration = cal};
    ingot_cache *cache;
    ingot_cache_memory m;
    int seqs[TOKENS], seq;
    float *x = malloc(sizeof(float) * TOKENS * WIDTH * 2);
    test_case("%s", kv);
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = kv, .window = 0, .sinks = 0}));
    if (!CHECK_OK(ingot_cache_create(&cache, device, &config))) return;
    for (int i = 0; i < TOKENS * WIDTH; i++) x[i] = (float)(i * 7919 % 1000) / 500 - 1;
    for (int i = 0; i < SEQS; i++) {
        CHECK_OK(ingot_cache_seq_open(cache, &seq));
        for (int t = 0; t < TOKENS; t++) seqs[t] = seq;
        CHECK_OK(ingot_cache_step_begin(cache, seqs, TOKENS, NULL));
        CHECK_OK(ingot_cache_layer(cache, 0, x, x, x, x + TOKENS * WIDTH));
        ingot_cache_step_end(cache);
    }
    ingot_cache_memory_get(cache, &m);
    CHECK_INT((int64_t)m.elements, (int64_t)SEQS * TOKENS * WIDTH * 2);
    /* What waits for its block or for the mean is stated apart. */
    const double claim = (ingot_side_plan_bits(&config.plan.k, false, 64) + ingot_side_plan_bits(&config.plan.v, true, 64)) / 2;
    CHECK_NEAR(8 * (double)(m.resident_bytes - m.exact_bytes) / (double)m.elements, claim * 1.015, claim * 0.015);
    ingot_cache_destroy(cache);
    free(x);
}

TEST("cache/resident bytes at 32K tokens are what every method claims") {
    const ingot_layer_shape shape = shape_of(4, 4, 64, 64, 0);
    ingot_calibration *cal = made_up_calibration(&shape, 1);
    const target best = {"cpu", ingot_cpu_get()->isa};
    ingot_device *d = target_open(&best, 2);
    for (int i = 0; i < n_methods(); i++) check_memory(d, method_name(i), cal);
    check_memory(d, "turboquant4,center", cal);
    ingot_device_close(d);
    ingot_calibration_close(cal);
}
