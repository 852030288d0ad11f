/* Several plans beside one run of the f16 cache, on a tiny model: the same figures as alone, whatever the batches; a plan that fails stays alone with it. */
#include "base/rng.h"
#include "model_fixture.h"
#include "test.h"
#include <ingot/eval.h>

enum { N = 150, CTX = 70 };

typedef struct bench {
    ingot_device *device;
    ingot_model *model;
    int32_t tokens[N];
} bench;

static bool bench_open(bench *b) {
    ingot_rng rng = {11};
    *b = (bench){0};
    if (!CHECK_OK(ingot_device_open(&b->device, "cpu", 2)) || !CHECK_OK(model_open_spec(&b->model, &tiny_llama, b->device))) return false;
    for (int i = 0; i < N; i++) b->tokens[i] = (int32_t)(ingot_rng_next(&rng) % (uint64_t)tiny_llama.n_vocab);
    return true;
}

static void bench_close(bench *b) {
    ingot_model_close(b->model);
    ingot_device_close(b->device);
}

static ingot_eval_plan plan_of(const char *text) {
    ingot_eval_plan p = {.stream = false};
    CHECK_OK(ingot_plan_parse(&p.plan, &(ingot_plan_spec){.kv = text, .window = -1, .sinks = -1}));
    return p;
}

static ingot_eval_config config_of(int n_batch) {
    return (ingot_eval_config){.n_ctx = CTX, .n_batch = n_batch, .activations = INGOT_ACT_FLOAT};
}

TEST("eval/many: each plan has the figures that it has alone") {
    static const char *const names[4] = {"q8_0", "int4", "f16", "int4 window=16 sinks=4"};
    bench b;
    if (bench_open(&b)) {
        ingot_eval_plan plans[4];
        ingot_eval_result many[4], one;
        ingot_eval_config c = config_of(32);
        for (int i = 0; i < 4; i++) plans[i] = plan_of(names[i]);
        if (CHECK_OK(ingot_eval_kld_many(many, b.model, b.tokens, N, &c, plans, 4)))
            for (int i = 0; i < 4; i++) {
                test_case("%s", names[i]);
                c.plan = plans[i].plan;
                CHECK_INT(many[i].status, INGOT_OK);
                if (!CHECK_OK(ingot_eval_kld(&one, b.model, b.tokens, N, &c))) continue;
                CHECK_INT(many[i].n_windows, 2);
                CHECK_INT(many[i].n_tokens, 2 * (CTX - 1));
                CHECK_INT(many[i].memory.n_tokens, CTX);
                CHECK_INT(many[i].memory.resident_bytes, one.memory.resident_bytes);
                CHECK_NEAR(many[i].ppl, one.ppl, 0.0);
                CHECK_NEAR(many[i].kld_mean, one.kld_mean, 0.0);
                CHECK_NEAR(many[i].kld_max, one.kld_max, 0.0);
                CHECK_NEAR(many[i].rms_dp, one.rms_dp, 0.0);
                CHECK_NEAR(many[i].windows[1].kld_p99, one.windows[1].kld_p99, 0.0);
                CHECK((many[i].kld_mean > 0) == (i != 2));
                ingot_free_memory(many[i].windows);
                ingot_free_memory(one.windows);
            }
    }
    bench_close(&b);
}

TEST("eval/many: batches and feeding token by token score every position once") {
    bench b;
    if (bench_open(&b)) {
        const ingot_eval_plan f16[2] = {plan_of("f16"), {.plan = plan_of("f16").plan, .stream = true}};
        static const int batches[] = {1, 7, 33, 64, 512};
        double want = 0.0;
        for (int i = 0; i < 5; i++) {
            ingot_eval_result r[2];
            const ingot_eval_config c = config_of(batches[i]);
            test_case("batches of %d", batches[i]);
            if (!CHECK_OK(ingot_eval_kld_many(r, b.model, b.tokens, N, &c, f16, 2))) continue;
            if (i == 0) want = r[0].ppl;
            for (int p = 0; p < 2; p++) {
                CHECK_NEAR(r[p].ppl, want, 1e-4 * want); /* order of sums */
                CHECK_NEAR(r[p].ppl_base, want, 1e-4 * want);
                CHECK_NEAR(r[p].kld_mean, 0.0, 1e-7);
                CHECK_NEAR(r[p].top1_agreement, 1.0, 0.02);
                CHECK_INT(r[p].memory.n_tokens, CTX);
                ingot_free_memory(r[p].windows);
            }
        }
    }
    bench_close(&b);
}

TEST("eval/many: a plan that cannot be measured does not stop the others") {
    bench b;
    if (bench_open(&b)) {
        const ingot_eval_plan plans[3] = {plan_of("wush4"), plan_of("int4"), plan_of("vecinfer8")};
        ingot_eval_result r[3], one;
        ingot_eval_config c = config_of(0);
        if (CHECK_OK(ingot_eval_kld_many(r, b.model, b.tokens, N, &c, plans, 3))) {
            for (int i = 0; i < 3; i += 2) {
                CHECK(r[i].status != INGOT_OK && !r[i].windows && r[i].n_windows == 0);
                CHECK_HAS(r[i].message, "calibration");
            }
            CHECK(r[1].status == INGOT_OK && r[1].kld_mean > 0);
            ingot_free_memory(r[1].windows);
        }
        CHECK_OK(ingot_eval_kld_many(r, b.model, b.tokens, N, &c, plans, 1)); /* nobody is left */
        CHECK(r[0].status != INGOT_OK);
        c.plan = plans[0].plan; /* alone it is the caller's failure */
        CHECK(ingot_eval_kld(&one, b.model, b.tokens, N, &c) != INGOT_OK && !one.windows);
        CHECK_HAS(ingot_last_error(), "calibration");
    }
    bench_close(&b);
}

typedef struct watch { int calls, stop_at; double last; bool fell; } watch;

static bool look(void *user, const char *what, double fraction) {
    watch *w = user;
    w->fell |= fraction < w->last || fraction > 1.0 || !*what;
    w->last = fraction;
    return ++w->calls != w->stop_at;
}

TEST("eval/many: progress rises to one, and cancelling leaves nothing behind") {
    bench b;
    if (bench_open(&b)) {
        const ingot_eval_plan plans[2] = {plan_of("q8_0"), plan_of("int4")};
        const int depth = 50;
        watch w[3] = {{0}};
        ingot_eval_result r[2];
        ingot_speed_result s[2];
        ingot_recall_result a[2];
        ingot_eval_config c = config_of(16);
        ingot_speed_config speed = {.depth = 40, .n_rounds = 2, .n_block = 3, .n_batch = 16};
        ingot_recall_config recall = {.n_ctx = 60, .depths = &depth, .n_depths = 1, .tasks = 1u << INGOT_RECALL_COPY, .n_samples = 2, .hops = 1, .n_batch = 16};
        c.progress = speed.progress = recall.progress = look;
        for (int stop = 0; stop < 6; stop++) {
            const ingot_status want = stop ? INGOT_E_CANCELLED : INGOT_OK;
            for (int i = 0; i < 3; i++) w[i] = (watch){.stop_at = stop};
            c.progress_user = &w[0], speed.progress_user = &w[1], recall.progress_user = &w[2];
            test_case("stopped at call %d", stop);
            CHECK_STATUS(ingot_eval_kld_many(r, b.model, b.tokens, N, &c, plans, 2), want);
            CHECK_STATUS(ingot_eval_speed(s, b.model, b.tokens, N, &speed, plans, 2), want);
            CHECK_STATUS(ingot_eval_recall(a, b.model, b.tokens, N, &recall, plans, 2), want);
            for (int i = 0; i < 3; i++) CHECK(!w[i].fell && (stop ? w[i].calls == stop : w[i].last == 1.0));
            for (int i = 0; i < 2; i++) {
                CHECK((r[i].windows == NULL) == (stop > 0) && (r[i].kld_mean > 0) == (stop == 0));
                CHECK((s[i].tokens_per_second > 0) == (stop == 0));
                CHECK((a[i].all[INGOT_RECALL_COPY].n_answers > 0) == (stop == 0));
                ingot_free_memory(r[i].windows);
            }
        }
    }
    bench_close(&b);
}

TEST("eval/speed: f16 and plans by turns, and wrong use") {
    bench b;
    if (bench_open(&b)) {
        const ingot_eval_plan plans[2] = {plan_of("int4"), plan_of("wush4")};
        ingot_speed_result s[2];
        ingot_speed_config c = {.depth = 200, .n_rounds = 3, .n_block = 4}; /* deeper than the text is long */
        if (CHECK_OK(ingot_eval_speed(s, b.model, b.tokens, N, &c, plans, 2))) {
            CHECK(s[0].status == INGOT_OK && s[0].tokens_per_second > 0 && s[0].base_tokens_per_second > 0);
            CHECK_INT(s[0].memory.n_tokens, 212);
            CHECK(s[1].status != INGOT_OK && s[1].tokens_per_second == 0);
        }
        const ingot_speed_config bad[] = {{.depth = 0, .n_rounds = 1, .n_block = 2}, {.depth = 1, .n_rounds = 0, .n_block = 2}, {.depth = 1, .n_rounds = 1, .n_block = 1},
                                          {.depth = INT32_MAX, .n_rounds = 1, .n_block = 2}};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK_STATUS(ingot_eval_speed(s, b.model, b.tokens, N, &bad[i], plans, 1), INGOT_E_INVALID);
        CHECK_STATUS(ingot_eval_speed(s, b.model, b.tokens, 0, &c, plans, 1), INGOT_E_INVALID);
        CHECK_STATUS(ingot_eval_speed(s, b.model, b.tokens, N, &c, plans, 0), INGOT_E_INVALID);
        b.tokens[3] = tiny_llama.n_vocab;
        CHECK_STATUS(ingot_eval_speed(s, b.model, b.tokens, N, &c, plans, 1), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), "token 3 ");
    }
    bench_close(&b);
}

TEST("eval/recall: wrong use") {
    bench b;
    if (bench_open(&b)) {
        static const int good[2] = {0, 100}, falling[2] = {50, 50}, outside[2] = {0, 101};
        const ingot_eval_plan plan = plan_of("f16");
        ingot_recall_result r;
        const ingot_recall_config c = {.n_ctx = 100, .depths = good, .n_depths = 2, .tasks = 1, .n_samples = 1, .hops = 1};
        ingot_recall_config bad[9];
        for (int i = 0; i < 9; i++) bad[i] = c;
        bad[0].n_ctx = 1, bad[1].depths = falling, bad[2].depths = outside, bad[3].n_depths = 17, bad[4].tasks = 16, bad[5].tasks = 0, bad[6].n_samples = 0, bad[7].hops = 9, bad[8].n_ctx = 30;
        for (int i = 0; i < 9; i++) {
            test_case("configuration %d", i);
            CHECK_STATUS(ingot_eval_recall(&r, b.model, b.tokens, N, &bad[i], &plan, 1), INGOT_E_INVALID);
        }
        if (CHECK_OK(ingot_eval_recall(&r, b.model, b.tokens, N, &c, &plan, 1))) {
            CHECK(r.all[0].n_answers > 0 && r.all[0].n_answers == r.by_depth[0][0].n_answers + r.by_depth[0][1].n_answers);
            CHECK(isnan(r.all[1].accuracy) && isnan(r.by_depth[0][2].logprob));
        }
    }
    bench_close(&b);
}
