/* Eviction: which tokens stay, that attention is over those and no others, and what happens to trims, forks and memory. */
#include "base/rng.h"
#include "cache_fixture.h"
#include "codec/codec.h"
#include "policy/policy.h"
#include <stdlib.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 64, STEPS = 320 };

typedef struct rig {
    ingot_device *device;
    ingot_cache *cache;
    ingot_calibration *calibration;
    int seq, n;
    float *k, *v, *q; /* [STEPS][heads][DIM] */
    float out[HEADS * DIM];
} rig;

static ingot_layer_shape layer_shape(void) { return shape_of(HEADS, KV_HEADS, DIM, DIM, 0); }

static void content(rig *r) {
    ingot_rng g = {77};
    const size_t kv = (size_t)STEPS * KV_HEADS * DIM, q = (size_t)STEPS * HEADS * DIM;
    r->k = malloc(kv * sizeof(float)), r->v = malloc(kv * sizeof(float)), r->q = malloc(q * sizeof(float));
    for (size_t i = 0; i < kv; i++) r->k[i] = (float)(ingot_rng_normal(&g) * (1 + (double)(i / DIM % 7))), r->v[i] = (float)ingot_rng_normal(&g);
    for (size_t i = 0; i < q; i++) r->q[i] = (float)ingot_rng_normal(&g) / 2;
}

static bool rig_open(rig *r, const char *kv) {
    const ingot_layer_shape s = layer_shape();
    const target t = {"cpu", ingot_cpu_get()->isa};
    memset(r, 0, sizeof *r);
    r->device = target_open(&t, 2);
    r->calibration = made_up_calibration(&s, 1);
    ingot_cache_config f = {.layers = &s, .n_layers = 1, .max_tokens = 512, .max_seqs = 3, .max_batch = 64, .calibration = r->calibration};
    content(r);
    return CHECK_OK(ingot_plan_parse(&f.plan, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1})) && CHECK_OK(ingot_cache_create(&r->cache, r->device, &f)) &&
           CHECK_OK(ingot_cache_seq_open(r->cache, &r->seq));
}

static void rig_close(rig *r) {
    ingot_cache_destroy(r->cache);
    ingot_calibration_close(r->calibration);
    ingot_device_close(r->device);
    free(r->k), free(r->v), free(r->q);
}

static void feed(rig *r, int seq, int n) {
    static float out[64 * HEADS * DIM];
    int seqs[64];
    for (int i = 0; i < n; i++) seqs[i] = seq;
    CHECK_OK(ingot_cache_step_begin(r->cache, seqs, n, NULL));
    CHECK_OK(ingot_cache_layer(r->cache, 0, r->q + (ptrdiff_t)r->n * HEADS * DIM, r->k + (ptrdiff_t)r->n * KV_HEADS * DIM, r->v + (ptrdiff_t)r->n * KV_HEADS * DIM, out));
    ingot_cache_step_end(r->cache);
    memcpy(r->out, out + (ptrdiff_t)(n - 1) * HEADS * DIM, sizeof r->out);
    r->n += n;
}

static bool held(const rig *r, int seq, int head, int position) {
    static uint8_t block[INGOT_PAGE_TOKENS * (INGOT_MAX_HEAD_DIM * 2 + 4)];
    ingot_kv_fmt f;
    return ingot_cache_get_block(r->cache, 0, seq, false, head, position, block, &f) == INGOT_OK;
}

static int count_held(const rig *r, int seq, int head) {
    int n = 0;
    for (int p = 0; p < ingot_cache_seq_tokens(r->cache, seq); p++) n += held(r, seq, head, p);
    return n;
}

/* The value side decoded where it is stored. */
static void value_of(const rig *r, bool value, int head, int position, float *x) {
    static uint8_t block[INGOT_PAGE_TOKENS * (INGOT_MAX_HEAD_DIM * 2 + 4)];
    float rows[64 * DIM];
    ingot_kv_fmt f;
    CHECK_OK(ingot_cache_get_block(r->cache, 0, r->seq, value, head, position, block, &f));
    ingot_codec_get(f.codec)->decode(&f, block, rows);
    memcpy(x, rows, DIM * sizeof *x);
}

/* Output of the last token over the tokens that were held before it, and itself. */
static void check_attention(const rig *r, bool was[KV_HEADS][STEPS]) {
    float want[HEADS * DIM];
    for (int h = 0; h < HEADS; h++) {
        const int kv = h / (HEADS / KV_HEADS);
        double sum = 0, acc[DIM] = {0};
        for (int p = 0; p < r->n; p++) {
            float k[DIM], v[DIM];
            if (p < r->n - 1 && !was[kv][p]) continue;
            if (!held(r, r->seq, kv, p)) { /* evicted by this very step: f16 in these cases, so the content itself */
                memcpy(k, r->k + (p * KV_HEADS + kv) * DIM, sizeof k), memcpy(v, r->v + (p * KV_HEADS + kv) * DIM, sizeof v);
            } else {
                value_of(r, false, kv, p, k), value_of(r, true, kv, p, v);
            }
            double dot = 0;
            for (int i = 0; i < DIM; i++) dot += (double)r->q[((r->n - 1) * HEADS + h) * DIM + i] * (double)k[i];
            const double w = exp(dot / 8);
            sum += w;
            for (int i = 0; i < DIM; i++) acc[i] += w * (double)v[i];
        }
        for (int i = 0; i < DIM; i++) want[h * DIM + i] = (float)(acc[i] / sum);
    }
    CHECK_NMSE(r->out, want, HEADS * DIM, 2e-6); /* what was evicted is taken without its rounding to f16 */
}

static double key_score(const rig *r, const char *policy, int head, int p) {
    const float *k = r->k + (p * KV_HEADS + head) * DIM;
    size_t n;
    const float *u = ingot_calibration_get(r->calibration, INGOT_CAL_FILTER, 0, 0, false, 0, head, &n);
    double dot = 0, norm = 0;
    for (int i = 0; i < DIM; i++) dot += (double)k[i] * (double)u[i], norm += (double)k[i] * (double)k[i];
    return !strcmp(policy, "qfilters") ? dot : !strcmp(policy, "knorm") ? -norm : p;
}

/* Token by token; the set that stays must be the greedy one: of sinks, window, recent ones and the best of the rest. */
static void check_policy(const char *policy, int budget, int sinks, int window, int recent) {
    char kv[128];
    rig r;
    snprintf(kv, sizeof kv, "f16 window=%d sinks=%d policy=%s,budget=%d,recent=%d", window, sinks, policy, budget, recent);
    test_case("%s", kv);
    if (!rig_open(&r, kv)) return;
    static bool was[KV_HEADS][STEPS], now[KV_HEADS][STEPS];
    memset(was, 0, sizeof was);
    for (int t = 0; t < STEPS; t++) {
        feed(&r, r.seq, 1);
        if (t % 37 == 5 || t > STEPS - 3) check_attention(&r, was);
        for (int h = 0; h < KV_HEADS; h++) {
            memcpy(now[h], was[h], sizeof now[h]);
            now[h][t] = true;
            int n = 0, worst = -1;
            for (int p = 0; p <= t; p++) n += now[h][p];
            for (int p = sinks; n > budget && p <= t - window - recent; p++)
                if (now[h][p] && (worst < 0 || key_score(&r, policy, h, p) < key_score(&r, policy, h, worst))) worst = p;
            if (worst >= 0) now[h][worst] = false;
            for (int p = 0; p <= t; p++)
                if (!CHECK_INT(held(&r, r.seq, h, p), now[h][p])) t = STEPS;
            memcpy(was[h], now[h], sizeof was[h]);
        }
    }
    ingot_cache_memory m;
    ingot_cache_memory_get(r.cache, &m);
    CHECK_INT((int64_t)m.elements, (int64_t)budget * KV_HEADS * DIM * 2);
    rig_close(&r);
}

TEST("policy/the tokens that stay are those of best score, and attention is over them") {
    check_policy("streaming", 100, 4, 0, 10);
    check_policy("streaming", 64, 4, 20, 0);
    check_policy("knorm", 100, 0, 0, 30);
    check_policy("knorm", 90, 4, 16, 8);
    check_policy("qfilters", 100, 4, 0, 25);
    check_policy("qfilters", 70, 0, 32, 0);
}

TEST("policy/every policy goes with every codec") {
    for (int p = 0; p < ingot_part_count(INGOT_PART_POLICY); p++)
        for (int m = 0; m < ingot_part_count(INGOT_PART_METHOD); m++) {
            char kv[160];
            rig r;
            if (!ingot_policy_get(p)->evicts || (m + p) % 3) continue; /* a third of the pairs, all of each */
            snprintf(kv, sizeof kv, "%s window=16 sinks=4 policy=%s,budget=%d", ingot_part_get(INGOT_PART_METHOD, m)->name, ingot_part_get(INGOT_PART_POLICY, p)->name, 220);
            test_case("%s", kv);
            if (!rig_open(&r, kv)) return;
            for (int i = 0; i < 5; i++) feed(&r, r.seq, 60); /* centred keys wait for 256 tokens */
            for (int i = 0; i < 5; i++) feed(&r, r.seq, 1);
            for (int h = 0; h < KV_HEADS; h++) {
                const int n = count_held(&r, r.seq, h);
                CHECK(n <= 220 && n > 220 - 64); /* whole blocks go */
                for (int i = 0; i < 4; i++) CHECK(held(&r, r.seq, h, i));
                for (int i = 1; i <= 16; i++) CHECK(held(&r, r.seq, h, r.n - i));
            }
            for (int i = 0; i < HEADS * DIM; i++) CHECK(isfinite(r.out[i]));
            rig_close(&r);
        }
}

/* Token by token: at most the budget, less than a block below it, and never what must stay. The plan's budget is the least that it may be, unless given. */
static void check_blocks(const char *plan, const char *policy, int sinks, int window, int recent, int block, int budget, const char *spelled) {
    char kv[160];
    rig r;
    snprintf(kv, sizeof kv, "%s window=%d sinks=%d policy=%s,budget=%s", plan, window, sinks, policy, spelled);
    if (recent) snprintf(kv + strlen(kv), sizeof kv - strlen(kv), ",recent=%d", recent);
    test_case("%s", kv);
    if (!rig_open(&r, kv)) return;
    for (int t = 0; t < STEPS; t++) {
        feed(&r, r.seq, 1);
        const int n = count_held(&r, r.seq, 1), packed = (r.n - window) / block * block;
        if (!CHECK(n <= budget && n > (r.n < budget ? r.n : budget) - block)) printf("%d of %d\n", n, r.n);
        for (int i = 0; i < sinks && i < r.n; i++) CHECK(held(&r, r.seq, 1, i));
        for (int p = packed > recent ? packed - recent : 0; p < r.n; p++) CHECK(held(&r, r.seq, 1, p));
    }
    ingot_cache_memory m;
    ingot_cache_memory_get(r.cache, &m);
    CHECK_INT(m.n_positions, STEPS);
    CHECK_INT(m.n_tokens, count_held(&r, r.seq, 0));
    CHECK_INT((int64_t)m.elements, (int64_t)m.n_tokens * KV_HEADS * DIM * 2);
    for (int i = 0; i < HEADS * DIM; i++) CHECK(isfinite(r.out[i]));
    rig_close(&r);
}

TEST("policy/blocks of tokens keep within their budgets, down to the least") {
    check_blocks("kivi2", "knorm", 0, 0, 0, 32, 63, "63");
    check_blocks("kivi2", "knorm", 4, 0, 0, 32, 95, "95"); /* the sinks cut a block, which stays */
    check_blocks("kivi4", "h2o", 32, 20, 40, 32, 32 + 20 + 31 + 64 + 32, "179");
    check_blocks("kivi2", "snapkv", 4, 100, 0, 32, 230, "230");
    check_blocks("polarpair", "streaming", 0, 0, 10, 64, 191, "191");
    check_blocks("int4 layers=0=kivi2", "knorm", 0, 0, 0, 32, 100, "100");
}

TEST("policy/a small share means what must stay and one more") {
    check_blocks("int4", "knorm", 4, 16, 100, 1, 121, "5%");
    check_blocks("f16", "snapkv", 0, 0, 200, 1, 201, "1%");
    check_blocks("int4", "streaming", 4, 128, 0, 1, 133, "1%");
    check_blocks("kivi2", "h2o", 0, 0, 20, 32, 95, "2%");
}

static void check_refused(const char *kv, const char *a, const char *b) {
    ingot_plan plan;
    test_case("%s", kv);
    CHECK_STATUS(ingot_plan_parse(&plan, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1}), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), a);
    CHECK_HAS(ingot_last_error(), b);
}

TEST("policy/budgets below what blocks take are refused with the numbers") {
    check_refused("kivi2 policy=knorm,budget=140", "less than the 191", "window of 128");
    check_refused("kivi2 window=0 policy=knorm,budget=62", "less than the 63", "blocks of 32");
    check_refused("kivi2 window=0 sinks=4 policy=knorm,budget=94", "less than the 95", "4 sinks");
    check_refused("polarpair policy=knorm,budget=126", "less than the 127", "blocks of 64");
    check_refused("qjl window=0 policy=knorm,budget=3", "less than the 63", "blocks of 32");
    check_refused("int4 layers=1=kivi2 policy=streaming,budget=1", "less than the 63", "blocks of 32");
    check_refused("int4 policy=streaming,budget=20,recent=20", "less than the 21", "20 recent");
}

TEST("policy/what a method takes from a calibration is told") {
    static const struct { const char *kv; size_t bytes; } cases[] = {{"int4", 0}, {"wush4", KV_HEADS * (DIM + 2 * DIM * DIM) * 4}, {"f16 policy=qfilters,budget=50", KV_HEADS * DIM * 4}};
    ingot_cache_memory m, more;
    rig r;
    for (int i = 0; i < 3; i++) {
        test_case("%s", cases[i].kv);
        if (!rig_open(&r, cases[i].kv)) return;
        ingot_cache_memory_get(r.cache, &m);
        CHECK_INT((int64_t)m.method_bytes, (int64_t)cases[i].bytes);
        rig_close(&r);
    }
    if (!rig_open(&r, "vecinfer12 window=0")) return;
    ingot_cache_memory_get(r.cache, &m);
    CHECK(m.method_bytes > 2 * KV_HEADS * ((size_t)4 << 12) * 4 && m.resident_bytes < m.method_bytes); /* codebooks and what searches them */
    feed(&r, r.seq, 64);
    ingot_cache_memory_get(r.cache, &more);
    CHECK_INT((int64_t)more.method_bytes, (int64_t)m.method_bytes);
    rig_close(&r);
}

TEST("policy/a share of the tokens, and attention that is watched") {
    static const char *const policies[] = {"snapkv", "h2o"};
    for (int i = 0; i < 2; i++) {
        char kv[96];
        rig r;
        snprintf(kv, sizeof kv, "f16 sinks=2 policy=%s,budget=50%%,recent=0", policies[i]);
        test_case("%s", kv);
        if (!rig_open(&r, kv)) return;
        /* One key that every query likes stays, whatever its age. */
        for (int t = 0; t < STEPS; t++)
            for (int h = 0; h < HEADS; h++) r.q[(t * HEADS + h) * DIM] = 6;
        for (int h = 0; h < KV_HEADS; h++) r.k[(30 * KV_HEADS + h) * DIM] = 40;
        for (int t = 0; t < STEPS; t += 20) feed(&r, r.seq, 20);
        for (int h = 0; h < KV_HEADS; h++) {
            CHECK(held(&r, r.seq, h, 30));
            CHECK_INT(count_held(&r, r.seq, h), STEPS / 2);
        }
        rig_close(&r);
    }
}

TEST("policy/trims and forks of what was evicted") {
    rig r;
    int child = -1, other = -1;
    if (!rig_open(&r, "int4 sinks=4 policy=knorm,budget=80,recent=8")) return;
    feed(&r, r.seq, 60);
    CHECK_OK(ingot_cache_trim(r.cache, r.seq, 50)); /* nothing is gone yet */
    r.n = 50;
    feed(&r, r.seq, 60);
    CHECK_INT(count_held(&r, r.seq, 0), 80);
    CHECK_STATUS(ingot_cache_trim(r.cache, r.seq, 100), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "knorm has evicted tokens");
    CHECK_STATUS(ingot_cache_seq_fork(r.cache, &child, r.seq, 100), INGOT_E_INVALID);
    CHECK_OK(ingot_cache_seq_fork(r.cache, &child, r.seq, 110));
    CHECK_OK(ingot_cache_trim(r.cache, r.seq, 110));
    /* Both go on alike, each in pages of its own. */
    feed(&r, r.seq, 30);
    float first[HEADS * DIM];
    memcpy(first, r.out, sizeof first);
    r.n = 110;
    feed(&r, child, 30);
    CHECK_MEM(r.out, first, sizeof first);
    for (int p = 0; p < 140; p++) CHECK_INT(held(&r, child, 1, p), held(&r, r.seq, 1, p));
    CHECK_OK(ingot_cache_trim(r.cache, child, 0));
    CHECK_OK(ingot_cache_seq_open(r.cache, &other));
    r.n = 0;
    feed(&r, child, 64), feed(&r, child, 64);
    memcpy(first, r.out, sizeof first);
    r.n = 0;
    feed(&r, other, 64), feed(&r, other, 64);
    CHECK_MEM(r.out, first, sizeof first);
    rig_close(&r);
}

TEST("policy/a cancelled step evicts nothing") {
    rig r, plain;
    if (!rig_open(&r, "int4 window=10 sinks=4 policy=h2o,budget=60,recent=4") || !rig_open(&plain, "int4 window=10 sinks=4 policy=h2o,budget=60,recent=4")) return;
    feed(&r, r.seq, 60), feed(&plain, plain.seq, 60);
    int seqs[20];
    for (int i = 0; i < 20; i++) seqs[i] = r.seq;
    CHECK_OK(ingot_cache_step_begin(r.cache, seqs, 20, NULL));
    ingot_cache_step_cancel(r.cache);
    feed(&r, r.seq, 40), feed(&plain, plain.seq, 40);
    CHECK_MEM(r.out, plain.out, sizeof r.out);
    for (int p = 0; p < 100; p++) CHECK_INT(held(&r, r.seq, 0, p), held(&plain, plain.seq, 0, p));
    rig_close(&r), rig_close(&plain);
}
