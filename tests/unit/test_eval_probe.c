/* What a probe computes of a head, against plain loops, and probes of tiny models. */
#include "base/alloc.h"
#include "base/rng.h"
#include "eval/probe_head.h"
#include "model_fixture.h"
#include "test.h"
#include <ingot/probe.h>
#include <stdlib.h>

enum { N = 90, DIM = 24, V_DIM = 16, GROUP = 2 };

typedef struct head_case {
    float q[N][GROUP][DIM], k[N][DIM], v[N][V_DIM], out[N][GROUP][V_DIM], stored[N][DIM];
    bool packed[N];
} head_case;

static void fill(head_case *c) {
    ingot_rng rng = {9};
    float *x = &c->q[0][0][0];
    for (size_t i = 0; i < offsetof(head_case, packed) / sizeof *x; i++) x[i] = (float)ingot_rng_normal(&rng);
    for (int t = 0; t < N; t++) {
        c->packed[t] = t % 5 != 0;
        for (int i = 0; i < DIM; i++) c->stored[t][i] = c->k[t][i] + 0.1f * c->stored[t][i];
    }
}

/* Everything by definition. p [GROUP][N][N]: weights of the looked-at queries, rows of others are 0. */
static void plain(const head_case *c, int window, float scale, probe_sums *sums, double p[GROUP][N][N]) {
    *sums = (probe_sums){0};
    memset(p, 0, sizeof(double) * GROUP * N * N);
    for (int h = 0; h < GROUP; h++)
        for (int at = N / 2; at < N; at++) {
            double s[N], mean = 0.0, total = 0.0, error = 0.0, square = 0.0, a = 0.0, b = 0.0;
            int n = 0;
            const int lo = window && at - window + 1 > 0 ? at - window + 1 : 0;
            for (int t = lo; t <= at; t++) {
                double e = 0.0;
                s[t] = 0.0;
                for (int i = 0; i < DIM; i++) s[t] += (double)c->q[at][h][i] * (double)c->k[t][i], e += (double)c->q[at][h][i] * ((double)c->stored[t][i] - (double)c->k[t][i]);
                total += exp((double)scale * s[t]);
                if (c->packed[t]) mean += s[t], n++, sums->error += e * e;
            }
            for (int t = lo; t <= at; t++) {
                if (c->packed[t]) sums->spread += (s[t] - mean / n) * (s[t] - mean / n);
                p[h][at][t] = exp((double)scale * s[t]) / total;
            }
            for (int i = 0; i < V_DIM; i++) {
                double o = 0.0;
                for (int t = lo; t <= at; t++) o += p[h][at][t] * (double)c->v[t][i];
                const double got = (double)c->out[at][h][i];
                error += (o - got) * (o - got), square += o * got, a += o * o, b += got * got;
            }
            sums->out_error += error, sums->out_square += a, sums->cosine += square / sqrt(a * b), sums->n_outputs++;
        }
}

static void check_head(int window) {
    static head_case c;
    static double p[GROUP][N][N];
    float attention[N] = {0};
    int witnesses[N] = {0};
    probe_sums got = {0}, want;
    fill(&c);
    plain(&c, window, 0.3f, &want, p);
    const probe_input in = {.n = N, .k_dim = DIM, .v_dim = V_DIM, .n_group = GROUP, .sliding_window = window, .scale = 0.3f, .q = {&c.q[0][0][0], GROUP * DIM},
                            .k = {&c.k[0][0], DIM}, .v = {&c.v[0][0], V_DIM}, .out = {&c.out[0][0][0], GROUP * V_DIM}, .k_stored = &c.stored[0][0], .packed = c.packed};
    test_case("window %d", window);
    if (!CHECK_OK(ingot_probe_head_run(&got, attention, witnesses, &in))) return;
    CHECK_NEAR(got.error, want.error, 1e-4 * want.error);
    CHECK_NEAR(got.spread, want.spread, 1e-4 * want.spread);
    CHECK_NEAR(got.out_error, want.out_error, 1e-5 * want.out_error);
    CHECK_NEAR(got.out_square, want.out_square, 1e-5 * want.out_square);
    CHECK_NEAR(got.cosine, want.cosine, 1e-5 * got.n_outputs);
    CHECK_INT(got.n_outputs, want.n_outputs);
    for (int t = 0; t < N; t++) {
        double sum = 0.0;
        int n = 0;
        for (int at = N / 2; at < N && t < N / 2; at++) {
            n += p[0][at][t] > 0.0;
            for (int h = 0; h < GROUP; h++) sum += p[h][at][t];
        }
        CHECK_INT(witnesses[t], n);
        CHECK_NEAR(attention[t], n ? sum / n : 0.0, 1e-6);
    }
}

TEST("probe/a head's figures are those of plain loops") {
    check_head(0);
    check_head(60);
}

TEST("probe/queries are spread over the second half") {
    CHECK_INT(ingot_probe_queries(90), 45);
    CHECK_INT(ingot_probe_queries(91), 46);
    CHECK_INT(ingot_probe_queries(4096), 256);
    CHECK_INT(ingot_probe_query(0, 45, 90), 45);
    CHECK_INT(ingot_probe_query(44, 45, 90), 89);
    CHECK_INT(ingot_probe_query(0, 256, 4096), 2048);
    CHECK_INT(ingot_probe_query(255, 256, 4096), 4088);
}

TEST("probe/rank leaves out sinks, the second half and keys that few queries see") {
    enum { M = 100 };
    float scores[M], attention[M];
    int witnesses[M];
    for (int t = 0; t < M; t++) scores[t] = (float)t, attention[t] = (float)(t * t), witnesses[t] = PROBE_WITNESSES;
    for (int t = 0; t < PROBE_SINKS; t++) attention[t] = 1e6f;
    for (int t = M / 2; t < M; t++) attention[t] = -1.0f;
    attention[20] = -5.0f, witnesses[20] = PROBE_WITNESSES - 1;
    CHECK_NEAR(ingot_probe_rank(scores, attention, witnesses, M), 1.0, 1e-12);
    attention[21] = -5.0f;
    CHECK(ingot_probe_rank(scores, attention, witnesses, M) < 0.99);
    for (int t = 25; t < M; t++) witnesses[t] = 0;
    CHECK(isnan(ingot_probe_rank(scores, attention, witnesses, M)));
}

/* --- whole probes --- */

static void check_probe(const model_spec *spec) {
    ingot_device *device = NULL;
    ingot_model *model = NULL;
    int32_t tokens[400];
    ingot_rng rng = {5};
    for (int i = 0; i < 400; i++) tokens[i] = (int32_t)(ingot_rng_next(&rng) % (uint64_t)spec->n_vocab);
    if (!CHECK_OK(ingot_device_open(&device, "cpu", 2)) || !CHECK_OK(model_open_spec(&model, spec, device))) return;
    /* score and output errors at least and at most */
    const struct { const char *kv; double low, high; } cases[] = {{"f16", 0.0, 2e-3}, {"q8_0", 1e-3, 0.03}, {"int4,group=32", 0.02, 0.3}, {"turboquant4,center", 0.03, 0.3},
                                                                  {"kivi4 window=0", 0.01, 0.3}, {"turboquant2", 0.15, 0.9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ingot_probe_config config = {.n_ctx = 400, .device = device};
        ingot_probe_result r;
        test_case("%s %s", spec->arch, cases[i].kv);
        if (!CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = cases[i].kv, .window = -1, .sinks = -1})) ||
            !CHECK_OK(ingot_eval_probe(&r, model, tokens, 400, &config)))
            continue;
        CHECK_INT(r.n_heads, spec->n_layers * spec->n_kv_heads);
        CHECK_INT(r.n_policies, 1); /* the others need a calibration */
        CHECK_STR(r.policies[0].name, "knorm");
        for (int h = 0; h < r.n_heads; h++) {
            CHECK(r.heads[h].score_error >= cases[i].low && r.heads[h].score_error <= cases[i].high);
            CHECK(r.heads[h].output_error >= 0.1 * cases[i].low && r.heads[h].output_error <= cases[i].high);
            CHECK(r.heads[h].output_cosine > 0.6 && r.heads[h].output_cosine < 1.000001);
        }
        ingot_free_memory(r.heads);
    }
    ingot_model_close(model);
    ingot_device_close(device);
}

TEST("probe/errors of tiny models grow as bits shrink") {
    check_probe(&tiny_llama);
    check_probe(&tiny_gemma3);
}

TEST("probe/exact tokens have no figures, wrong use is refused") {
    ingot_device *device = NULL;
    ingot_model *model = NULL;
    int32_t tokens[64] = {0};
    ingot_probe_result r;
    if (!CHECK_OK(ingot_device_open(&device, "cpu", 1)) || !CHECK_OK(model_open_spec(&model, &tiny_llama, device))) return;
    ingot_probe_config config = {.n_ctx = 64, .device = device};
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "int4", .window = 64, .sinks = -1}));
    if (CHECK_OK(ingot_eval_probe(&r, model, tokens, 64, &config))) {
        CHECK(isnan(r.heads[0].score_error) && isnan(r.score_error));
        CHECK(r.output_error < 2e-3);
        ingot_free_memory(r.heads);
    }
    bool done = false;
    for (long n = 1; !done && n < 10000; n += 1 + n / 10) { /* every allocation may fail */
        ingot_mem_fail_at(n);
        const ingot_status s = ingot_eval_probe(&r, model, tokens, 64, &config);
        ingot_mem_fail_at(0);
        done = s == INGOT_OK;
        test_case("allocation %ld", n);
        if (done) ingot_free_memory(r.heads);
        else CHECK(s == INGOT_E_NOMEM && r.heads == NULL);
    }
    CHECK(done);
    CHECK_STATUS(ingot_eval_probe(&r, model, tokens, 63, &config), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "63");
    CHECK(r.heads == NULL);
    config.n_ctx = 8;
    CHECK_STATUS(ingot_eval_probe(&r, model, tokens, 64, &config), INGOT_E_INVALID);
    config.n_ctx = 64;
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "wush4", .window = -1, .sinks = -1}));
    CHECK_STATUS(ingot_eval_probe(&r, model, tokens, 64, &config), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "calibration");
    config.device = NULL;
    CHECK_STATUS(ingot_eval_probe(&r, model, tokens, 64, &config), INGOT_E_INVALID);
    ingot_model_close(model);
    ingot_device_close(device);
}
