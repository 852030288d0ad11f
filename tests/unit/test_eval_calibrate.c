/* Calibrations of tiny models against plain loops over what the engine was seen to compute. */
#include "base/alloc.h"
#include "base/rng.h"
#include "calibration/derive.h"
#include "engine/capture.h"
#include "eval/calibrate_stats.h"
#include "model/output_moment.h"
#include "model_fixture.h"
#include "test.h"
#include <ingot/calibrate.h>
#include <stdlib.h>
#include <unistd.h>

/* Two windows; a second one of more than 1024 tokens is read as several contexts. */
enum { N_CTX = 80, LONG_CTX = 1536, SHORT_CTX = 1024, MAX_TOKENS = 2 * LONG_CTX, LAYER = 1, STEP = 16 };

typedef struct fixture {
    ingot_device *device;
    ingot_model *model;
    ingot_model_info info;
    int n_ctx, n_tokens;
    int32_t tokens[MAX_TOKENS];
    char path[300];
} fixture;

/* Position of token t in its context. */
static int place(int n_ctx, int t) { return t < n_ctx ? t : (t - n_ctx) % (n_ctx < SHORT_CTX ? n_ctx : SHORT_CTX); }

static bool open_fixture_of(fixture *f, const model_spec *spec, int n_ctx) {
    const char *tmp = getenv("TMPDIR");
    ingot_rng rng = {5};
    *f = (fixture){.n_ctx = n_ctx, .n_tokens = 2 * n_ctx};
    for (int i = 0; i < f->n_tokens; i++) f->tokens[i] = (int32_t)(ingot_rng_next(&rng) % (uint64_t)spec->n_vocab);
    snprintf(f->path, sizeof f->path, "%s/ingot-test-%d.ingotcal", tmp && strlen(tmp) < 200 ? tmp : P_tmpdir, (int)getpid());
    if (!CHECK_OK(ingot_device_open(&f->device, "cpu", 2)) || !CHECK_OK(model_open_spec(&f->model, spec, f->device))) return false;
    ingot_model_info_get(f->model, &f->info);
    for (int t = 0; t < f->n_tokens && ingot_model_adds_bos(f->model); t++)
        if (place(n_ctx, t) == 0) f->tokens[t] = ingot_model_bos(f->model);
    return true;
}

static bool open_fixture(fixture *f, const model_spec *spec) { return open_fixture_of(f, spec, N_CTX); }

static void close_fixture(fixture *f) {
    remove(f->path);
    ingot_model_close(f->model);
    ingot_device_close(f->device);
}

static ingot_status calibrate(fixture *f, const ingot_calibrate_config *config, ingot_calibration **out) {
    ingot_calibrate_result r;
    const ingot_status s = ingot_calibrate(&r, f->model, f->tokens, (size_t)f->n_tokens, config, f->path);
    *out = NULL;
    ingot_free_memory(r.books);
    return s == INGOT_OK ? ingot_calibration_open(out, f->path) : s;
}

/* --- capture --- */

/* Everything of one layer, all windows. */
typedef struct seen {
    const ingot_layer_shape *shape;
    float *q, *k, *v; /* [n_tokens][heads][dim] */
    int n_ctx, n_tokens, n, calls, next_layer;
} seen;

static void see(void *user, const ingot_captured *c) {
    seen *s = user;
    const ingot_layer_shape *l = s->shape;
    s->calls++;
    CHECK_INT(c->layer, s->next_layer);
    s->next_layer = c->layer + 1;
    if (c->layer != LAYER) return;
    for (int i = 0; i < c->n_tokens; i++, s->n++) {
        CHECK_INT(c->positions[i], place(s->n_ctx, s->n));
        memcpy(s->q + s->n * l->n_heads * l->k_dim, c->q + i * c->q_stride, (size_t)(l->n_heads * l->k_dim) * sizeof(float));
        memcpy(s->k + s->n * l->n_kv_heads * l->k_dim, c->k + i * c->k_stride, (size_t)(l->n_kv_heads * l->k_dim) * sizeof(float));
        memcpy(s->v + s->n * l->n_kv_heads * l->v_dim, c->v + i * c->v_stride, (size_t)(l->n_kv_heads * l->v_dim) * sizeof(float));
    }
}

static bool look(fixture *f, seen *s) {
    const ingot_layer_shape *l = &f->info.layers[LAYER];
    ingot_engine_config config = {.n_ctx = f->n_ctx, .max_sessions = 1, .n_batch = 32, .activations = INGOT_ACT_FLOAT};
    ingot_engine *engine = NULL;
    ingot_session *session = NULL;
    const int n = f->n_tokens;
    *s = (seen){.shape = l, .n_ctx = f->n_ctx, .n_tokens = n};
    s->q = malloc((size_t)(n * l->n_heads * l->k_dim) * sizeof(float));
    s->k = malloc((size_t)(n * l->n_kv_heads * l->k_dim) * sizeof(float));
    s->v = malloc((size_t)(n * l->n_kv_heads * l->v_dim) * sizeof(float));
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}));
    bool ok = s->q && s->k && s->v && CHECK_OK(ingot_engine_create(&engine, f->model, &config)) && CHECK_OK(ingot_session_create(&session, engine));
    if (ok) ingot_engine_capture(engine, see, s);
    for (int at = 0; ok && at < n; at += STEP) {
        if (place(f->n_ctx, at) == 0) ok = CHECK_OK(ingot_session_trim(session, 0));
        s->next_layer = 0;
        ok = ok && CHECK_OK(ingot_session_prefill(session, f->tokens + at, STEP, NULL, NULL, NULL));
        CHECK_INT(s->next_layer, f->info.n_layers);
    }
    if (ok) {
        const int calls = s->calls;
        CHECK_INT(calls, f->info.n_layers * n / STEP);
        ingot_engine_capture(engine, NULL, NULL);
        CHECK_OK(ingot_session_trim(session, 0));
        CHECK_OK(ingot_session_prefill(session, f->tokens, STEP, NULL, NULL, NULL));
        CHECK_INT(s->calls, calls);
    }
    ingot_session_destroy(session);
    ingot_engine_destroy(engine);
    return ok;
}

static void forget(seen *s) {
    free(s->q), free(s->k), free(s->v);
}

/* --- what is derived --- */

static bool counts(const seen *s, int token) { return place(s->n_ctx, token) >= CALIBRATE_SINKS; }

static const float *get(const ingot_calibration *c, int kind, int bits, int group, bool value, int head, size_t want) {
    size_t n = 0;
    const float *x = ingot_calibration_get(c, kind, bits, group, value, LAYER, head, &n);
    return CHECK(x != NULL) && CHECK_INT(n, want) ? x : NULL;
}

/* mean [dim] and second [dim][dim] of the vectors of one head, sinks left out unless `all`. */
static void plain_moments(const seen *s, const float *x, int heads, int head, int dim, bool all, bool centred, double *mean, double *second) {
    int n = 0;
    for (int i = 0; i < dim; i++) mean[i] = 0.0;
    for (int i = 0; i < dim * dim; i++) second[i] = 0.0;
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < s->n_tokens; t++) {
            if (!all && !counts(s, t)) continue;
            const float *v = x + (t * heads + head) * dim;
            n += pass == 0;
            for (int i = 0; i < dim; i++) {
                if (pass == 0) mean[i] += (double)v[i];
                for (int j = 0; pass == 1 && j < dim; j++)
                    second[i * dim + j] += ((double)v[i] - (centred ? mean[i] / n : 0)) * ((double)v[j] - (centred ? mean[j] / n : 0)) / s->n_tokens;
            }
        }
    for (int i = 0; i < dim * dim; i++) second[i] *= (double)s->n_tokens / n;
    for (int i = 0; i < dim; i++) mean[i] /= n;
}

static void check_means_and_channels(const ingot_calibration *c, const seen *s, int head, bool value) {
    static double mean[128], second[128 * 128];
    const int dim = value ? s->shape->v_dim : s->shape->k_dim;
    plain_moments(s, value ? s->v : s->k, s->shape->n_kv_heads, head, dim, false, false, mean, second);
    const float *m = get(c, INGOT_CAL_MEAN, 0, 0, value, head, (size_t)dim), *order = get(c, INGOT_CAL_OUTLIERS, 0, 0, value, head, (size_t)dim);
    if (!m || !order) return;
    for (int i = 0; i < dim; i++) CHECK_NEAR(m[i], mean[i], 1e-6);
    for (int i = 1; i < dim; i++) {
        const int a = (int)order[i - 1], b = (int)order[i];
        CHECK(second[a * dim + a] >= second[b * dim + b]);
    }
}

static void check_smoothing(const ingot_calibration *c, const seen *s, int head) {
    const int dim = s->shape->k_dim;
    const float *lambda = get(c, INGOT_CAL_SMOOTH, 0, 0, false, head, (size_t)dim);
    for (int i = 0; lambda && i < dim; i++) {
        const int partner = s->shape->adjacent_pairs ? i ^ 1 : (i + dim / 2) % dim;
        float largest = 0.0f;
        for (int t = 0; t < s->n_tokens; t++)
            if (counts(s, t)) {
                const float *k = s->k + (t * s->shape->n_kv_heads + head) * dim;
                largest = fmaxf(largest, fmaxf(fabsf(k[i]), fabsf(k[partner])));
            }
        CHECK_NEAR(lambda[i], sqrtf(largest), 1e-6);
    }
}

/* The direction as the best of the queries' projections: every other direction explains less of their squares. */
static void check_filter(const ingot_calibration *c, const seen *s, int head) {
    static double mean[128], second[128 * 128];
    const int dim = s->shape->k_dim, group = s->shape->n_heads / s->shape->n_kv_heads;
    double sum[128] = {0};
    const float *u = get(c, INGOT_CAL_FILTER, 0, 0, false, head, (size_t)dim);
    for (int g = 0; u && g < group; g++) {
        double x[128], y[128], norm = 1.0, projection = 0.0;
        plain_moments(s, s->q, s->shape->n_heads, head * group + g, dim, true, false, mean, second);
        memcpy(x, mean, sizeof x);
        for (int step = 0; step < 3000; step++) {
            norm = 0.0;
            for (int i = 0; i < dim; i++) {
                y[i] = 0.0;
                for (int j = 0; j < dim; j++) y[i] += second[i * dim + j] * x[j];
                norm += y[i] * y[i];
            }
            for (int i = 0; i < dim; i++) x[i] = y[i] / sqrt(norm);
        }
        for (int i = 0; i < dim; i++) projection += x[i] * mean[i];
        for (int i = 0; i < dim; i++) sum[i] += (projection < 0 ? -x[i] : x[i]) / group;
    }
    for (int i = 0; u && i < dim; i++) CHECK_NEAR(u[i], sum[i], 2e-3);
}

static void check_whitening(const ingot_calibration *c, const seen *s, const ingot_model *model, int head, bool value) {
    static double mean[128], second[128 * 128], cost[128 * 128], one[128 * 128];
    static float want[2 * 128 * 128];
    const ingot_layer_shape *l = s->shape;
    const int dim = value ? l->v_dim : l->k_dim, group = l->n_heads / l->n_kv_heads;
    const float *a = get(c, INGOT_CAL_WHITEN, 0, 0, value, head, 2 * (size_t)(dim * dim));
    double *output = malloc((size_t)(l->n_kv_heads * l->v_dim * l->v_dim) * sizeof *output);
    if (!a || !CHECK(output != NULL) || !CHECK_OK(ingot_model_output_moment(model, LAYER, output))) return;
    memset(cost, 0, sizeof cost);
    for (int g = 0; g < group; g++) {
        plain_moments(s, s->q, l->n_heads, head * group + g, l->k_dim, true, false, mean, one);
        for (int i = 0; i < l->k_dim * l->k_dim; i++) cost[i] += one[i] / group;
    }
    plain_moments(s, value ? s->v : s->k, l->n_kv_heads, head, dim, false, !value, mean, second);
    CHECK_OK(ingot_whiten_make(want, want + dim * dim, second, value ? output + head * dim * dim : cost, dim));
    /* Eigenvectors of close eigenvalues may turn into each other: what counts is a a^T, the metric of the transform. */
    for (int i = 0; i < dim; i += 7)
        for (int j = 0; j < dim; j += 5) {
            double got = 0.0, wanted = 0.0, size = 0.0;
            for (int x = 0; x < dim; x++) {
                got += (double)a[i * dim + x] * (double)a[j * dim + x];
                wanted += (double)want[i * dim + x] * (double)want[j * dim + x];
                size += (double)want[i * dim + x] * (double)want[i * dim + x];
            }
            CHECK_NEAR(got, wanted, 1e-3 * size);
        }
    free(output);
}

/* A book for every kind that has at least as many sub-vectors as centroids, and none for the others. */
static void check_books(const ingot_calibration *c, int dim) {
    const struct { int bits, group; } kinds[] = {{8, 4}, {8, 8}, {10, 4}, {12, 4}, {12, 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int side = 0; side < 2; side++) {
            const int centroids = 1 << kinds[i].bits, vectors = 2 * (N_CTX - CALIBRATE_SINKS) * (dim / kinds[i].group);
            if (vectors >= centroids) get(c, INGOT_CAL_CODEBOOK, kinds[i].bits, kinds[i].group, side, 0, (size_t)centroids * (size_t)kinds[i].group);
            else CHECK(!ingot_calibration_get(c, INGOT_CAL_CODEBOOK, kinds[i].bits, kinds[i].group, side, LAYER, 0, NULL));
        }
}

static void check_calibration(const model_spec *spec, int n_ctx, const char *source) {
    fixture f;
    seen s = {0};
    ingot_calibration *c = NULL;
    test_case("%s", spec->arch);
    if (open_fixture_of(&f, spec, n_ctx) && look(&f, &s) && CHECK_OK(calibrate(&f, &(ingot_calibrate_config){.n_ctx = n_ctx, .source = "noise", .no_codebooks = n_ctx > N_CTX}, &c))) {
        CHECK_STR(ingot_calibration_source(c), source);
        CHECK_OK(ingot_model_check_calibration(f.model, c));
        for (int h = 0; h < s.shape->n_kv_heads; h++) {
            for (int side = 0; side < 2; side++) {
                check_means_and_channels(c, &s, h, side);
                check_whitening(c, &s, f.model, h, side);
            }
            check_smoothing(c, &s, h);
            check_filter(c, &s, h);
        }
        if (n_ctx == N_CTX) check_books(c, s.shape->k_dim);
    }
    ingot_calibration_close(c);
    forget(&s);
    close_fixture(&f);
}

TEST("calibrate/a llama's arrays are those of plain loops") { check_calibration(&tiny_llama, N_CTX, "2 windows of 80 tokens of noise"); }
TEST("calibrate/a gemma's arrays are those of plain loops") { check_calibration(&tiny_gemma3, N_CTX, "2 windows of 80 tokens of noise"); }
TEST("calibrate/every other long window is read as short contexts") {
    check_calibration(&tiny_llama, LONG_CTX, "2 windows of 1536 tokens (every other one as contexts of 1024) of noise");
}

TEST("calibrate/moments of the output projection") {
    fixture f;
    if (open_fixture(&f, &tiny_gemma3)) {
        const ingot_layer_shape *l = &f.info.layers[LAYER];
        const int dim = l->v_dim, width = l->n_heads * dim;
        float *w = model_values("blk.1.attn_output.weight", (size_t)(width * f.info.n_embd)), *norm = model_values("blk.1.post_attention_norm.weight", (size_t)f.info.n_embd);
        double *got = malloc((size_t)(l->n_kv_heads * dim * dim) * sizeof *got);
        if (CHECK(w && norm && got) && CHECK_OK(ingot_model_output_moment(f.model, LAYER, got)))
            for (int i = 0; i < dim; i += 3)
                for (int j = 0; j < dim; j++) {
                    double want = 0.0;
                    for (int r = 0; r < f.info.n_embd; r++)
                        for (int h = 0; h < l->n_heads; h++) /* one KV head */
                            want += (double)norm[r] * (double)norm[r] * (double)w[r * width + h * dim + i] * (double)w[r * width + h * dim + j];
                    CHECK_NEAR(got[i * dim + j], want, 1e-9);
                }
        free(w), free(norm), free(got);
    }
    close_fixture(&f);
}

/* --- refusals --- */

static bool stop_late(void *user, const char *what, double fraction) {
    (void)user, (void)what;
    return fraction < 0.5;
}

TEST("calibrate/wrong use and cancelling leave no file") {
    fixture f;
    ingot_calibration *c;
    if (open_fixture(&f, &tiny_llama)) {
        CHECK_STATUS(calibrate(&f, &(ingot_calibrate_config){.n_ctx = N_CTX, .n_windows = 3}, &c), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), "160");
        CHECK_HAS(ingot_last_error(), "240");
        CHECK_STATUS(calibrate(&f, &(ingot_calibrate_config){.n_ctx = 8}, &c), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), "64");
        CHECK_STATUS(calibrate(&f, &(ingot_calibrate_config){.n_ctx = N_CTX, .n_windows = -1}, &c), INGOT_E_INVALID);
        CHECK_STATUS(calibrate(&f, &(ingot_calibrate_config){.n_ctx = N_CTX, .source = "two\nlines"}, &c), INGOT_E_INVALID);
        CHECK_STATUS(calibrate(&f, &(ingot_calibrate_config){.n_ctx = N_CTX, .progress = stop_late}, &c), INGOT_E_CANCELLED);
        CHECK(access(f.path, F_OK) != 0);
        f.tokens[3] = 1 << 20;
        CHECK_STATUS(calibrate(&f, &(ingot_calibrate_config){.n_ctx = N_CTX, .no_codebooks = true}, &c), INGOT_E_INVALID);
        CHECK(access(f.path, F_OK) != 0);
    }
    close_fixture(&f);
}

TEST("calibrate/every allocation may fail") {
    fixture f;
    bool done = false;
    if (open_fixture(&f, &tiny_llama))
        for (long n = 1; !done && n < 100000; n += 1 + n / 4) {
            ingot_calibrate_result r;
            ingot_mem_fail_at(n);
            const ingot_status s = ingot_calibrate(&r, f.model, f.tokens, (size_t)f.n_tokens, &(ingot_calibrate_config){.n_ctx = N_CTX}, f.path);
            ingot_mem_fail_at(0);
            test_case("allocation %ld", n);
            done = s == INGOT_OK;
            if (done) ingot_free_memory(r.books);
            else CHECK(s == INGOT_E_NOMEM && r.books == NULL && access(f.path, F_OK) != 0);
        }
    CHECK(done);
    close_fixture(&f);
}

TEST("calibrate/without codebooks, whatever the threads, the same file") {
    fixture f;
    ingot_calibration *c = NULL;
    const ingot_calibrate_config config = {.no_codebooks = true}; /* and with windows of its own choice: the whole text */
    if (open_fixture(&f, &tiny_llama) && CHECK_OK(calibrate(&f, &config, &c))) {
        size_t n;
        CHECK_STR(ingot_calibration_source(c), "1 window of 160 tokens of a text");
        CHECK(ingot_calibration_get(c, INGOT_CAL_CODEBOOK, 8, 4, false, 0, 0, &n) == NULL);
        static char one[1 << 20], two[1 << 20];
        FILE *a = fopen(f.path, "rb");
        const size_t n_one = a ? fread(one, 1, sizeof one, a) : 0;
        if (a) fclose(a);
        ingot_calibration_close(c);
        c = NULL;
        ingot_model_close(f.model);
        ingot_device_close(f.device);
        f.model = NULL, f.device = NULL;
        if (CHECK_OK(ingot_device_open(&f.device, "cpu", 3)) && CHECK_OK(model_open_spec(&f.model, &tiny_llama, f.device)) && CHECK_OK(calibrate(&f, &config, &c))) {
            FILE *b = fopen(f.path, "rb");
            CHECK_INT(b ? fread(two, 1, sizeof two, b) : 0, n_one);
            if (b) fclose(b);
            CHECK(n_one > 1000 && n_one < sizeof one);
            CHECK_MEM(two, one, n_one);
        }
    }
    ingot_calibration_close(c);
    close_fixture(&f);
}

TEST("calibrate/a calibration belongs to one model") {
    fixture f, other;
    ingot_calibration *c = NULL;
    model_spec spec = tiny_llama;
    spec.separate_output = true;
    if (open_fixture(&f, &tiny_llama) && open_fixture(&other, &spec) && CHECK_OK(calibrate(&f, &(ingot_calibrate_config){.no_codebooks = true}, &c))) {
        uint8_t a[16], b[16], again[16];
        CHECK_OK(ingot_model_fingerprint(f.model, a));
        CHECK_OK(ingot_model_fingerprint(f.model, again));
        CHECK_OK(ingot_model_fingerprint(other.model, b));
        CHECK_MEM(again, a, 16);
        CHECK(memcmp(a, b, 16) != 0);
        CHECK_MEM(ingot_calibration_fingerprint(c), a, 16);
        ingot_engine *engine = NULL;
        ingot_engine_config config = {.n_ctx = N_CTX, .max_sessions = 1, .calibration = c};
        CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "wush4", .window = -1, .sinks = -1}));
        CHECK_OK(ingot_engine_create(&engine, f.model, &config));
        ingot_engine_destroy(engine);
        CHECK_STATUS(ingot_engine_create(&engine, other.model, &config), INGOT_E_INVALID);
        CHECK(engine == NULL);
        CHECK_HAS(ingot_last_error(), "another model");
        CHECK_HAS(ingot_last_error(), "of a text");
        CHECK_HAS(ingot_last_error(), "tiny");
        CHECK_STATUS(ingot_model_fingerprint(NULL, a), INGOT_E_INVALID);
        CHECK_STATUS(ingot_model_check_calibration(f.model, NULL), INGOT_E_INVALID);
    }
    ingot_calibration_close(c);
    close_fixture(&other);
    close_fixture(&f);
}
