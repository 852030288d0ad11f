/* Matrix products: every weight type, on every back end and instruction set, against the scalar reference. */
#include "backend/backend.h"
#include "backend/ref/ref_weight.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/half.h"
#include "base/rng.h"
#include "gguf/wtype.h"
#include "test.h"
#include <ingot/device.h>
#include <stdlib.h>

static const int types[] = {INGOT_W_F32, INGOT_W_F16, INGOT_W_BF16, INGOT_W_Q4_0, INGOT_W_Q4_1, INGOT_W_Q5_0, INGOT_W_Q5_1, INGOT_W_Q8_0,
                            INGOT_W_Q2_K, INGOT_W_Q3_K, INGOT_W_Q4_K, INGOT_W_Q5_K, INGOT_W_Q6_K, INGOT_W_IQ4_NL, INGOT_W_IQ4_XS, INGOT_W_MXFP4};
enum { N_TYPES = (int)(sizeof types / sizeof types[0]) };
static const ingot_isa levels[] = {INGOT_ISA_REF, INGOT_ISA_AVX2, INGOT_ISA_AVX512};

static void put_half(uint8_t *p, float x) {
    const uint16_t h = ingot_f32_to_f16(x);
    memcpy(p, &h, 2);
}

/* One block of random codes whose f16 or E8M0 fields hold sane values: where they lie is all that differs. */
static void random_block(ingot_rng *r, int type, const ingot_wtype_info *info, uint8_t *b) {
    static const struct { int type, d, m; } halves[] = {
        {INGOT_W_Q4_0, 0, -1}, {INGOT_W_Q4_1, 0, 2}, {INGOT_W_Q5_0, 0, -1}, {INGOT_W_Q5_1, 0, 2}, {INGOT_W_Q8_0, 0, -1}, {INGOT_W_Q2_K, 80, 82},
        {INGOT_W_Q3_K, 108, -1}, {INGOT_W_Q4_K, 0, 2}, {INGOT_W_Q5_K, 0, 2}, {INGOT_W_Q6_K, 208, -1}, {INGOT_W_IQ4_NL, 0, -1}, {INGOT_W_IQ4_XS, 0, -1}};
    for (int i = 0; i < info->block_bytes; i++) b[i] = (uint8_t)ingot_rng_next(r);
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        if (halves[i].type != type) continue;
        put_half(b + halves[i].d, (float)(0.02 * (ingot_rng_uniform(r) + 0.1)));
        if (halves[i].m >= 0) put_half(b + halves[i].m, (float)(0.02 * ingot_rng_normal(r)));
    }
    const float x = (float)ingot_rng_normal(r);
    if (type == INGOT_W_MXFP4) b[0] = (uint8_t)(118 + ingot_rng_next(r) % 6);
    if (type == INGOT_W_F32) memcpy(b, &x, 4);
    if (type == INGOT_W_F16) put_half(b, x);
    if (type == INGOT_W_BF16) memcpy(b, (const uint8_t *)&x + 2, 2);
}

static uint8_t *random_rows(ingot_rng *r, int type, int n_out, int n_in) {
    const ingot_wtype_info *info = ingot_wtype_get((uint32_t)type);
    const size_t n = (size_t)n_out * (size_t)(n_in / info->block);
    uint8_t *rows = malloc(n * (size_t)info->block_bytes);
    for (size_t i = 0; i < n; i++) random_block(r, type, info, rows + i * (size_t)info->block_bytes);
    return rows;
}

static float *random_floats(ingot_rng *r, size_t n) {
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)ingot_rng_normal(r);
    return x;
}

/* One call of a back end: outputs with a gap after each row and before and behind the whole. */
typedef struct product {
    const ingot_backend *b;
    ingot_linear_args a;
    int type[3], rows[3];
    const uint8_t *data[3];
    ingot_weight *w[3];
    float *y[3];
    ingot_status status;
} product;

enum { GAP = 16 };
#define GUARD 12345.f

static size_t product_floats(const product *p, int k) { return (size_t)GAP + (size_t)p->a.n_tokens * (size_t)(p->rows[k] + GAP); }

static void product_team(const ingot_team *team, void *arg) {
    product *p = arg;
    for (int k = 0; k < p->a.n_out; k++) {
        const ingot_status s = p->b->weight_prepare(&p->w[k], p->type[k], p->rows[k], p->a.n_in, p->data[k], team);
        if (s != INGOT_OK) {
            if (team->rank == 0) p->status = s;
            return;
        }
    }
    ingot_linear_args a = p->a;
    for (int k = 0; k < a.n_out; k++) a.out[k].w = p->w[k], a.out[k].y = p->y[k] + GAP;
    p->b->linear(&a, team);
}

/* Runs it and checks the gaps; p->y[k] are the caller's to free. */
static bool product_run(product *p, const char *backend, int n_threads) {
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, backend, n_threads))) return false;
    p->b = device->backend;
    p->status = INGOT_OK;
    p->a.scratch = ingot_alloc(p->b->linear_scratch_bytes(p->a.n_in, p->a.n_tokens), INGOT_MEM_SCRATCH);
    for (int k = 0; k < p->a.n_out; k++) {
        p->a.out[k].y_stride = p->rows[k] + GAP;
        p->y[k] = malloc(product_floats(p, k) * sizeof(float));
        for (size_t i = 0; i < product_floats(p, k); i++) p->y[k][i] = GUARD;
    }
    ingot_pool_run(device->pool, product_team, p);
    bool ok = CHECK_INT(p->status, INGOT_OK);
    for (int k = 0; ok && k < p->a.n_out; k++) {
        for (int t = -1; ok && t < p->a.n_tokens; t++) {
            const float *gap = t < 0 ? p->y[k] : p->y[k] + GAP + t * p->a.out[k].y_stride + p->rows[k];
            for (int i = 0; ok && i < GAP; i++) ok = CHECK(gap[i] == GUARD);
        }
    }
    for (int k = 0; k < p->a.n_out; k++) p->b->weight_free(p->w[k]);
    ingot_dealloc(p->a.scratch);
    ingot_device_close(device);
    return ok;
}

static void product_free(product *p) {
    for (int k = 0; k < p->a.n_out; k++) free(p->y[k]);
}

/* The gaps are the same in both, so whole buffers can be compared; they are set to 0 so that they count for nothing. */
static bool same_product(product *p, product *q, double nmse) {
    bool ok = true;
    for (int k = 0; k < p->a.n_out; k++) {
        for (size_t i = 0; i < product_floats(p, k); i++) {
            if (p->y[k][i] == GUARD) p->y[k][i] = 0;
            if (q->y[k][i] == GUARD) q->y[k][i] = 0;
        }
        ok = CHECK_NMSE(p->y[k], q->y[k], product_floats(p, k), nmse) && ok;
    }
    return ok;
}

/* Against the reference: the same integers and weights, only sums in float instead of double (NMSE of a few 1e-14, more where
 * large parts cancel). Int8 against float: a step of amax / 127 with amax around 2.2 sigma in 32 normal values makes an
 * error of (2.2 / 127)^2 / 12 = 2.5e-5 of the energy; weights of one sign make outputs share a direction, hence a wide margin. */
#define NMSE_SUMS 1e-10
#define NMSE_INT8 1e-4

static void compare(product *base, int n_threads) {
    const ingot_isa before = ingot_cpu_get()->isa;
    for (int int8 = 0; int8 < 2; int8++) {
        product want = *base;
        want.a.int8_activations = int8;
        if (!product_run(&want, "ref", 1)) return;
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            if (!ingot_cpu_force(levels[l])) continue;
            product got = *base;
            got.a.int8_activations = int8;
            test_case("%s: %s x %d in, rows %d, tokens %d, %s, %d threads", ingot_isa_name(levels[l]), ingot_wtype_any_name((uint32_t)base->type[0]),
                      base->a.n_in, base->rows[0], base->a.n_tokens, int8 ? "int8" : "float", n_threads);
            if (product_run(&got, "cpu", n_threads)) same_product(&got, &want, NMSE_SUMS);
            product_free(&got);
        }
        ingot_cpu_force(before);
        product_free(&want);
    }
}

static void one_matrix(ingot_rng *r, int type, int n_out, int n_in, int n_tokens, int n_threads) {
    uint8_t *data = random_rows(r, type, n_out, n_in);
    const int stride = n_in + 8;
    float *x = random_floats(r, (size_t)n_tokens * (size_t)stride), *bias = random_floats(r, (size_t)n_out);
    product p = {.a = {.n_out = 1, .x = x, .x_stride = stride, .n_tokens = n_tokens, .n_in = n_in}, .type = {type}, .rows = {n_out}, .data = {data}};
    p.a.out[0].bias = n_out % 2 ? bias : NULL;
    compare(&p, n_threads);
    free(data);
    free(x);
    free(bias);
}

TEST("check/linear: all weight types, ragged rows, token counts") {
    static const struct { int rows, tokens, in; } shapes[] = {{1, 1, 256}, {15, 2, 512}, {17, 3, 768}, {48, 5, 256}, {33, 8, 256}, {48, 17, 512}, {17, 64, 256}, {31, 130, 256}};
    ingot_rng r = {1};
    for (int i = 0; i < N_TYPES; i++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) one_matrix(&r, types[i], shapes[s].rows, shapes[s].in, shapes[s].tokens, 1);
    }
}

TEST("check/linear: rows that are no multiple of 256 or of a vector") {
    static const struct { int type, in; } rows[] = {{INGOT_W_Q4_0, 32}, {INGOT_W_Q4_1, 576}, {INGOT_W_Q8_0, 96}, {INGOT_W_Q5_0, 640}, {INGOT_W_IQ4_NL, 288},
                                                    {INGOT_W_MXFP4, 416}, {INGOT_W_F32, 7}, {INGOT_W_F16, 301}, {INGOT_W_BF16, 77}};
    ingot_rng r = {2};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_matrix(&r, rows[i].type, 21, rows[i].in, 1, 1);
        if (rows[i].in % 32 == 0 || ingot_wtype_get((uint32_t)rows[i].type)->block == 1) one_matrix(&r, rows[i].type, 40, rows[i].in, 23, 1);
    }
}

TEST("check/linear: three outputs of different types, several threads") {
    ingot_rng r = {3};
    enum { IN = 512, TOKENS = 37 };
    static const int type[3] = {INGOT_W_Q4_K, INGOT_W_F16, INGOT_W_Q6_K}, rows[3] = {130, 40, 17};
    float *x = random_floats(&r, TOKENS * IN), *bias = random_floats(&r, 130);
    product p = {.a = {.n_out = 3, .x = x, .x_stride = IN, .n_tokens = TOKENS, .n_in = IN}};
    uint8_t *data[3];
    for (int k = 0; k < 3; k++) {
        p.type[k] = type[k], p.rows[k] = rows[k];
        p.data[k] = data[k] = random_rows(&r, type[k], rows[k], IN);
    }
    p.a.out[0].bias = bias;
    for (int n = 1; n <= 3; n++) compare(&p, n);
    for (int k = 0; k < 3; k++) free(data[k]);
    free(x);
    free(bias);
}

TEST("check/linear: int8 activations stay close to float ones") {
    ingot_rng r = {4};
    for (int i = 0; i < N_TYPES; i++) {
        enum { ROWS = 64, IN = 512, TOKENS = 32 };
        uint8_t *data = random_rows(&r, types[i], ROWS, IN);
        float *x = random_floats(&r, TOKENS * IN);
        product f = {.a = {.n_out = 1, .x = x, .x_stride = IN, .n_tokens = TOKENS, .n_in = IN}, .type = {types[i]}, .rows = {ROWS}, .data = {data}}, q = f;
        q.a.int8_activations = true;
        test_case("%s", ingot_wtype_any_name((uint32_t)types[i]));
        if (product_run(&f, "cpu", 1) && product_run(&q, "cpu", 1)) {
            const bool floats = ingot_wtype_get((uint32_t)types[i])->block == 1;
            same_product(&q, &f, floats ? 0 : NMSE_INT8);
            if (!floats) CHECK(memcmp(q.y[0], f.y[0], product_floats(&q, 0) * sizeof(float)) != 0); /* it did quantise */
        }
        product_free(&f);
        product_free(&q);
        free(data);
        free(x);
    }
}

/* Blocks of zeros, of tiny and of huge numbers, of one sign; the largest codes of both signs. */
TEST("check/linear: activations at the limits") {
    enum { ROWS = 20, IN = 256, TOKENS = 6 };
    ingot_rng r = {5};
    for (int i = 0; i < N_TYPES; i++) {
        uint8_t *data = random_rows(&r, types[i], ROWS, IN);
        if (types[i] == INGOT_W_Q8_0) {
            for (int b = 0; b < ROWS * IN / 32; b++) memset(data + b * 34 + 2, b % 2 ? 0x80 : 0x7f, 32);
        }
        float x[TOKENS * IN] = {0};
        for (int k = 0; k < IN; k++) {
            x[IN + k] = 1e-38f;
            x[2 * IN + k] = 1e15f * (float)ingot_rng_normal(&r);
            x[3 * IN + k] = 1.f;
            x[4 * IN + k] = k % 2 ? -1.f : 1.f;
            x[5 * IN + k] = k % 32 ? 0.f : -3.f;
        }
        for (int t = 0; t < TOKENS; t++) {
            product p = {.a = {.n_out = 1, .x = x + t * IN, .x_stride = IN, .n_tokens = 1, .n_in = IN}, .type = {types[i]}, .rows = {ROWS}, .data = {data}};
            if (t == 0) {
                product z = p;
                z.a.int8_activations = true;
                if (product_run(&z, "cpu", 1)) for (int k = 0; k < ROWS; k++) CHECK(z.y[0][GAP + k] == 0.f);
                product_free(&z);
            } else if (t != 1) compare(&p, 1);
        }
        free(data);
    }
}

TEST("check/linear: NaN and infinity are not hidden by int8") {
    enum { ROWS = 16, IN = 64 };
    const ingot_isa before = ingot_cpu_get()->isa;
    ingot_rng r = {6};
    uint8_t *data = random_rows(&r, INGOT_W_Q8_0, ROWS, IN);
    float x[IN];
    for (int bad = 0; bad < 2; bad++) {
        for (int k = 0; k < IN; k++) x[k] = (float)ingot_rng_normal(&r);
        x[40] = bad ? INFINITY : NAN;
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            if (!ingot_cpu_force(levels[l])) continue;
            product p = {.a = {.n_out = 1, .x = x, .x_stride = IN, .n_tokens = 1, .n_in = IN, .int8_activations = true}, .type = {INGOT_W_Q8_0}, .rows = {ROWS}, .data = {data}};
            test_case("%s", ingot_isa_name(levels[l]));
            if (product_run(&p, "cpu", 1)) for (int k = 0; k < ROWS; k++) CHECK(!isfinite(p.y[0][GAP + k]));
            product_free(&p);
        }
    }
    ingot_cpu_force(before);
    free(data);
}

typedef struct refusal { const ingot_backend *b; int type, n_out, n_in; ingot_status status; ingot_weight *w; } refusal;
static void refusal_team(const ingot_team *team, void *arg) {
    static const uint8_t data[4096];
    refusal *f = arg;
    const ingot_status s = f->b->weight_prepare(&f->w, f->type, f->n_out, f->n_in, data, team);
    if (team->rank == 0) f->status = s;
}

TEST("check/linear: matrices that cannot be") {
    static const struct { int type, n_out, n_in; ingot_status want; const char *says; } cases[] = {
        {7777, 1, 32, INGOT_E_UNSUPPORTED, "7777"}, {-1, 1, 32, INGOT_E_UNSUPPORTED, "-1"}, {INGOT_W_Q4_0, 0, 32, INGOT_E_INVALID, "0 x 32"},
        {INGOT_W_Q4_0, 1, 33, INGOT_E_UNSUPPORTED, "Q4_0"}, {INGOT_W_Q4_K, 1, 128, INGOT_E_UNSUPPORTED, "Q4_K"}, {INGOT_W_F32, 1, -4, INGOT_E_INVALID, "-4"}};
    for (int b = 0; b < ingot_backend_count(); b++) {
        ingot_device *device = NULL;
        if (!CHECK_OK(ingot_device_open(&device, ingot_backend_name(b), 2))) return;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            refusal f = {device->backend, cases[i].type, cases[i].n_out, cases[i].n_in, INGOT_OK, NULL};
            test_case("%s %d: %d x %d", ingot_backend_name(b), cases[i].type, cases[i].n_out, cases[i].n_in);
            ingot_pool_run(device->pool, refusal_team, &f);
            CHECK_STATUS(f.status, cases[i].want);
            CHECK_HAS(ingot_last_error(), cases[i].says);
            CHECK(f.w == NULL);
        }
        ingot_device_close(device);
    }
}

TEST("check/linear: memory of weights is counted and given back") {
    ingot_rng r = {7};
    uint8_t *data = random_rows(&r, INGOT_W_Q4_1, 33, 576);
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "cpu", 1))) return;
    const size_t before = ingot_mem_bytes(INGOT_MEM_WEIGHTS);
    const ingot_team team = {device->pool, 0, 1};
    ingot_weight *w = NULL;
    if (CHECK_OK(device->backend->weight_prepare(&w, INGOT_W_Q4_1, 33, 576, data, &team))) {
        CHECK(ingot_mem_bytes(INGOT_MEM_WEIGHTS) - before >= device->backend->weight_bytes(w));
        device->backend->weight_free(w);
    }
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_WEIGHTS), before);
    for (int n = 1; n <= 2; n++) {
        ingot_mem_fail_at(n);
        const ingot_status s = device->backend->weight_prepare(&w, INGOT_W_Q4_1, 33, 576, data, &team);
        ingot_mem_fail_at(0);
        if (s == INGOT_OK) device->backend->weight_free(w);
        else CHECK_STATUS(s, INGOT_E_NOMEM);
        CHECK_INT(ingot_mem_bytes(INGOT_MEM_WEIGHTS), before);
    }
    ingot_device_close(device);
    free(data);
}

TEST("check/device: names, threads, description") {
    ingot_device *device = NULL;
    CHECK_STATUS(ingot_device_open(&device, "gpu9", 1), INGOT_E_INVALID);
    CHECK(device == NULL);
    CHECK_HAS(ingot_last_error(), "gpu9");
    CHECK_HAS(ingot_last_error(), "ref, cpu");
    CHECK_STATUS(ingot_device_open(&device, NULL, 1), INGOT_E_INVALID);
    if (!CHECK_OK(ingot_device_open(&device, "cpu", 2))) return;
    CHECK_STR(ingot_device_name(device), "cpu");
    CHECK_INT(ingot_device_threads(device), 2);
    CHECK_HAS(ingot_device_description(device), "2 threads");
    ingot_device_close(device);
    ingot_device_close(NULL);
}
