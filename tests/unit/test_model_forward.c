/* The engine on tiny models against a plain forward pass. The only difference is float arithmetic and keys and values rounded to
 * f16 (relative 2^-11), so the squared error stays below 1e-6 of the logits' square; a wrong head, position or window gives
 * more than 1e-2. */
#include "base/rng.h"
#include "model_fixture.h"
#include "test.h"
#include <ingot/session.h>

enum { N_TOKENS = 150 };

static void check_forward(const model_spec *spec, const char *device_name, int n_batch) {
    ingot_device *device = NULL;
    ingot_model *model = NULL;
    ingot_engine *engine = NULL;
    ingot_session *session = NULL;
    ingot_engine_config config = {.n_ctx = 256, .max_sessions = 1, .n_batch = n_batch, .activations = INGOT_ACT_FLOAT};
    int32_t tokens[N_TOKENS];
    ingot_rng rng = {5};
    for (int i = 0; i < N_TOKENS; i++) tokens[i] = (int32_t)(ingot_rng_next(&rng) % (uint64_t)spec->n_vocab);
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}));
    if (CHECK_OK(ingot_device_open(&device, device_name, 2)) && CHECK_OK(model_open_spec(&model, spec, device)) && CHECK_OK(ingot_engine_create(&engine, model, &config)) &&
        CHECK_OK(ingot_session_create(&session, engine))) {
        const int stops[] = {1, 30, 149, 150}; /* past the sliding window, then past two pages, then one token */
        for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
            const int held = ingot_session_tokens(session);
            const float *logits;
            double want[64];
            float want_f32[64];
            if (!CHECK_OK(ingot_session_prefill(session, tokens + held, stops[i] - held, &logits, NULL, NULL))) break;
            plain_forward(spec, tokens, stops[i], want);
            for (int k = 0; k < spec->n_vocab; k++) want_f32[k] = (float)want[k];
            test_case("%s on %s, %d tokens, batch %d", spec->arch, device_name, stops[i], n_batch);
            CHECK_NMSE(logits, want_f32, (size_t)spec->n_vocab, 1e-6);
        }
    }
    ingot_session_destroy(session);
    ingot_engine_destroy(engine);
    ingot_model_close(model);
    ingot_device_close(device);
}

static void check_on_all(const model_spec *spec) {
    check_forward(spec, "ref", 64);
    check_forward(spec, "cpu", 64);
    check_forward(spec, "cpu", 7);
}

TEST("model/llama forward pass") { check_on_all(&tiny_llama); }
TEST("model/gemma3 forward pass") { check_on_all(&tiny_gemma3); }

TEST("model/llama with biases, separate output, frequency factors, partial rotation and its own scale") {
    model_spec s = tiny_llama;
    s.biases = s.separate_output = s.rope_factors = true;
    s.n_rot = 48;
    s.attention_scale = 0.2f;
    check_on_all(&s);
}

TEST("model/linear RoPE scaling: all layers of llama, the global ones of gemma3") {
    model_spec s = tiny_llama, g = tiny_gemma3;
    s.linear_factor = g.linear_factor = 4.0f;
    check_on_all(&s);
    check_on_all(&g);
}

TEST("model/value heads of another size than key heads") {
    model_spec s = tiny_llama;
    s.v_dim = 96;
    check_on_all(&s);
}
