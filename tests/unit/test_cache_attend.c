/* Attention over the cache against a plain attention over what should be stored, on every device and level. */
#include "cache_fixture.h"
#include <stdlib.h>

/* The reference sums in double and rounds once; the CPU's two-digit integers are good to about 4e-5. */
static double tolerance(const target *t) { return strcmp(t->device, "ref") ? 1e-7 : 1e-10; }

/* Feeds the steps to sequence 0 on every target and compares every row of every layer. */
static void check_case(const cache_case *spec, const int *steps, int n_steps) {
    target list[8];
    uint32_t tags[FIX_TOKENS];
    float *want[FIX_LAYERS];
    int total = 0;
    for (int i = 0; i < n_steps; i++) total += steps[i];
    for (int i = 0; i < total; i++) tags[i] = 1;
    for (int l = 0; l < spec->n_layers; l++) {
        want[l] = malloc(sizeof(float) * (size_t)total * out_width(spec, l));
        cache_expect(spec, tags, l, 0, total, 0, want[l]);
    }
    const int n_targets = targets(list);
    for (int i = 0; i < n_targets; i++) {
        fixture *f = malloc(sizeof *f);
        int seq, at = 0;
        test_case("%s/%s %s window %d sinks %d dims %d/%d heads %d/%d", list[i].device, ingot_isa_name(list[i].isa), spec->kv, spec->window,
                  spec->sinks, spec->layers[0].k_dim, spec->layers[0].v_dim, spec->layers[0].n_heads, spec->layers[0].n_kv_heads);
        if (fixture_open(f, spec, &list[i], 2) && CHECK_OK(ingot_cache_seq_open(f->cache, &seq))) {
            for (int s = 0; s < n_steps; at += steps[s++]) {
                fixture_feed(f, seq, 1, steps[s]);
                for (int l = 0; l < spec->n_layers; l++) {
                    const size_t width = out_width(spec, l);
                    CHECK_NMSE(f->out[l], want[l] + (size_t)at * width, (size_t)steps[s] * width, tolerance(&list[i]));
                }
            }
            CHECK_INT(ingot_cache_seq_tokens(f->cache, seq), total);
        }
        fixture_close(f);
        free(f);
    }
    for (int l = 0; l < spec->n_layers; l++) free(want[l]);
}

#define CHECK_CASE(spec, ...)                                            \
    do {                                                                 \
        const int steps_[] = {__VA_ARGS__};                              \
        check_case(spec, steps_, (int)(sizeof steps_ / sizeof *steps_)); \
    } while (0)

TEST("cache/attention equals the oracle for all head sizes and groups") {
    static const struct { int heads, kv_heads, k, v; const char *kv; } rows[] = {
        {2, 2, 64, 64, "f16"}, {9, 3, 64, 64, "int4"}, {6, 2, 80, 80, "q8_0"}, {6, 2, 80, 80, "int4,group=64"},
        {4, 1, 96, 96, "int4"}, {7, 1, 112, 112, "int4"}, {8, 1, 128, 128, "int4,group=128"}, {8, 2, 128, 128, "q8_0"},
        {4, 1, 192, 128, "k=q8_0 v=int4"}, {4, 1, 256, 256, "int4"}, {2, 1, 512, 512, "k=f16 v=q8_0"}, {3, 1, 64, 96, "k=int4 v=f16"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cache_case spec = {.layers = {shape_of(rows[i].heads, rows[i].kv_heads, rows[i].k, rows[i].v, 0)}, .n_layers = 1, .kv = rows[i].kv};
        CHECK_CASE(&spec, 1, 5, 64, 1, 130, 1);
    }
}

TEST("cache/rotated sides give the attention of what was stored") {
    static const char *const kv[] = {"int4,hadamard", "k=int4,hadamard v=q8_0", "k=f16 v=int4,group=128,hadamard"};
    for (int i = 0; i < 3; i++) {
        cache_case spec = {.layers = {shape_of(4, 2, 96, 112, 0)}, .n_layers = 1, .kv = kv[i]};
        CHECK_CASE(&spec, 1, 70, 3);
    }
    cache_case spec = {.layers = {shape_of(4, 2, 64, 80, 0)}, .n_layers = 1, .kv = "int4,hadamard", .window = 20, .sinks = 3};
    CHECK_CASE(&spec, 1, 70, 3);
}

TEST("cache/exact window and sinks are exactly as defined") {
    static const struct { int window, sinks; } rows[] = {{1, 0}, {20, 0}, {64, 3}, {100, 70}, {0, 4}, {300, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0)}, .n_layers = 1, .kv = "int4", .window = rows[i].window, .sinks = rows[i].sinks};
        CHECK_CASE(&spec, 1, 5, 64, 1, 1, 130, 1, 40, 1);
    }
}

TEST("cache/sliding layers see their window and no more") {
    cache_case spec = {.layers = {shape_of(4, 1, 64, 64, 16), shape_of(4, 2, 64, 64, 0), shape_of(2, 1, 80, 80, 100)}, .n_layers = 3, .kv = "int4"};
    CHECK_CASE(&spec, 1, 5, 64, 1, 130, 1, 200, 1, 1);
    spec.window = 20;
    spec.sinks = 4;
    CHECK_CASE(&spec, 1, 5, 64, 1, 130, 1, 200, 1, 1);
}

TEST("cache/a long context is split and merged") {
    cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0)}, .n_layers = 1, .kv = "int4", .window = 30, .sinks = 4};
    CHECK_CASE(&spec, 256, 256, 256, 256, 1, 4, 9, 20, 1);
}

TEST("cache/one token, a chunk or all at once store the same bytes and see the same") {
    static const int chunks[][2] = {{150, 1}, {15, 10}, {3, 50}, {1, 150}};
    for (int windowed = 0; windowed < 2; windowed++) {
        const cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0), shape_of(4, 2, 64, 64, 40)}, .n_layers = 2, .kv = "k=int4 v=q8_0",
                                 .window = windowed * 25, .sinks = windowed * 2};
        fixture *base = malloc(sizeof *base), *f = malloc(sizeof *f);
        int seq, other;
        if (!fixture_open(base, &spec, &(target){"cpu", ingot_cpu_get()->isa}, 1)) return;
        ingot_cache_seq_open(base->cache, &seq);
        for (int i = 0; i < 150; i++) fixture_feed(base, seq, 7, 1);
        for (int c = 1; c < 4; c++) {
            test_case("window %d, chunks of %d", spec.window, chunks[c][1]);
            if (!fixture_open(f, &spec, &(target){"cpu", ingot_cpu_get()->isa}, 2)) return;
            ingot_cache_seq_open(f->cache, &other);
            for (int i = 0; i < chunks[c][0]; i++) fixture_feed(f, other, 7, chunks[c][1]);
            CHECK(same_rows(base, seq, f, other, 150));
            for (int l = 0; l < 2; l++) {
                const size_t width = out_width(&spec, l);
                CHECK_NMSE(f->out[l] + (size_t)(chunks[c][1] - 1) * width, base->out[l], width, 1e-7);
            }
            fixture_close(f);
        }
        fixture_close(base);
        free(base), free(f);
    }
}

/* Three sequences whose tokens are mixed within steps against each of them alone, in steps of the same sizes. */
static void check_interleaved(const cache_case *spec, const target *t, int threads) {
    static const int sizes[][3] = {{70, 3, 1}, {1, 1, 1}, {5, 100, 2}, {1, 0, 1}, {40, 1, 33}};
    fixture *mixed = malloc(sizeof *mixed), *alone = malloc(sizeof *alone);
    int seqs[256], rows[3][256], ids[3], solo;
    uint32_t tags[256];
    if (!fixture_open(mixed, spec, t, threads) || !fixture_open(alone, spec, t, 1)) return;
    int solo_of[3];
    for (int i = 0; i < 3; i++) ingot_cache_seq_open(mixed->cache, &ids[i]), ingot_cache_seq_open(alone->cache, &solo), solo_of[i] = solo;
    for (int step = 0; step < 5; step++) {
        int left[3], n = 0, taken[3] = {0};
        memcpy(left, sizes[step], sizeof left);
        for (int turn = 0; left[0] + left[1] + left[2] > 0; turn++) {
            const int s = turn * 7 % 3;
            if (!left[s]) continue;
            left[s]--;
            rows[s][taken[s]++] = n;
            seqs[n] = ids[s], tags[n++] = 10u + (uint32_t)s;
        }
        fixture_step(mixed, seqs, tags, n);
        for (int s = 0; s < 3; s++) {
            if (!sizes[step][s]) continue;
            fixture_feed(alone, solo_of[s], 10u + (uint32_t)s, sizes[step][s]);
            for (int l = 0; l < spec->n_layers; l++)
                for (int i = 0; i < sizes[step][s]; i++) {
                    const size_t width = out_width(spec, l);
                    if (!CHECK_MEM(mixed->out[l] + (size_t)rows[s][i] * width, alone->out[l] + (size_t)i * width, width * sizeof(float))) return;
                }
        }
    }
    for (int s = 0; s < 3; s++) CHECK(same_rows(mixed, ids[s], alone, solo_of[s], mixed->n[ids[s]]));
    fixture_close(mixed), fixture_close(alone);
    free(mixed), free(alone);
}

TEST("cache/interleaved sequences equal each alone, whatever the threads") {
    target list[8];
    const int n = targets(list);
    for (int i = 0; i < n; i++)
        for (int windowed = 0; windowed < 2; windowed++) {
            const cache_case spec = {.layers = {shape_of(4, 2, 64, 64, 0), shape_of(4, 1, 64, 64, 50)}, .n_layers = 2,
                                     .kv = windowed ? "int4,hadamard" : "int4", .window = windowed * 30, .sinks = windowed * 4};
            test_case("%s/%s windowed %d", list[i].device, ingot_isa_name(list[i].isa), windowed);
            check_interleaved(&spec, &list[i], 3);
        }
}
