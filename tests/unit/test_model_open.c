/* Model files that are wrong in one place: each is an error that names the place, and none crashes or leaks. */
#include "base/alloc.h"
#include "model_fixture.h"
#include "test.h"
#include <ingot/session.h>

static void check_refused(const model_spec *spec, ingot_device *device, ingot_status status, const char *part, const char *also) {
    ingot_model *m;
    CHECK_STATUS(model_open_spec(&m, spec, device), status);
    CHECK_HAS(ingot_last_error(), part);
    if (also) CHECK_HAS(ingot_last_error(), also);
    CHECK(m == NULL);
    ingot_model_close(m);
}

TEST("model/geometry of a file") {
    ingot_device *device = NULL;
    ingot_model *m = NULL;
    ingot_model_info i;
    if (!CHECK_OK(ingot_device_open(&device, "ref", 1)) || !CHECK_OK(model_open_spec(&m, &tiny_gemma3, device))) return;
    ingot_model_info_get(m, &i);
    CHECK_STR(i.architecture, "gemma3");
    CHECK_STR(i.name, "tiny");
    CHECK_STR(i.file_types, "F32 x41");
    CHECK_INT(i.n_layers, 3);
    CHECK_INT(i.n_embd, 32);
    CHECK_INT(i.n_heads, 4);
    CHECK_INT(i.n_kv_heads, 1);
    CHECK_INT(i.k_dim, 64);
    CHECK_INT(i.n_ff, 64);
    CHECK_INT(i.n_vocab, 40);
    CHECK_INT(i.n_ctx_train, 256);
    CHECK_INT(i.sliding_window, 24);
    CHECK_INT(i.n_sliding_layers, 2);
    CHECK_INT(i.layers[0].sliding_window, 24);
    CHECK_INT(i.layers[1].sliding_window, 0);
    CHECK_NEAR(i.layers[0].scale, 0.125, 0.0);
    CHECK(i.weight_bytes > 100000 && i.n_params > 40 * 32);
    CHECK(!i.has_chat_template);
    ingot_model_close(m);
    /* Without weights the geometry is the same. */
    if (!CHECK_OK(model_open_spec(&m, &tiny_gemma3, NULL))) return;
    ingot_model_info_get(m, &i);
    CHECK_INT(i.n_sliding_layers, 2);
    CHECK_INT(i.weight_bytes, 0);
    ingot_engine *engine = NULL;
    const ingot_engine_config config = {.n_ctx = 64, .max_sessions = 1};
    CHECK_STATUS(ingot_engine_create(&engine, m, &config), INGOT_E_INVALID);
    ingot_model_close(m);
    ingot_device_close(device);
}

TEST("model/unknown architecture is named and the known ones are listed") {
    ingot_device *device = NULL;
    ingot_model *m = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "ref", 1))) return;
    model_spec s = tiny_llama;
    s.arch = "mamba9";
    check_refused(&s, device, INGOT_E_UNSUPPORTED, "mamba9", "llama, gemma3");
    CHECK_OK(model_open_spec(&m, &s, NULL)); /* its vocabulary can be read all the same */
    ingot_model_close(m);
    ingot_device_close(device);
}

TEST("model/missing keys and tensors are named") {
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "ref", 1))) return;
    static const char *const llama[] = {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length", "llama.context_length", "llama.attention.head_count",
                                        "llama.attention.layer_norm_rms_epsilon", "token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight", "blk.1.attn_q.weight",
                                        "blk.1.attn_k.weight", "blk.0.attn_v.weight", "blk.1.attn_output.weight", "blk.0.ffn_norm.weight", "blk.1.ffn_gate.weight",
                                        "blk.0.ffn_up.weight", "blk.1.ffn_down.weight"};
    static const char *const gemma[] = {"gemma3.attention.sliding_window", "blk.0.attn_q_norm.weight", "blk.2.attn_k_norm.weight", "blk.1.post_attention_norm.weight", "blk.2.post_ffw_norm.weight"};
    for (size_t i = 0; i < sizeof llama / sizeof llama[0]; i++) {
        model_spec s = tiny_llama;
        s.drop = llama[i];
        test_case("without %s", s.drop);
        check_refused(&s, device, INGOT_E_FORMAT, s.drop, NULL);
    }
    for (size_t i = 0; i < sizeof gemma / sizeof gemma[0]; i++) {
        model_spec s = tiny_gemma3;
        s.drop = gemma[i];
        test_case("without %s", s.drop);
        check_refused(&s, device, INGOT_E_FORMAT, s.drop, NULL);
    }
    ingot_device_close(device);
}

TEST("model/wrong shapes name wanted and found") {
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "ref", 1))) return;
    const struct { const char *tensor; uint64_t d0, d1; const char *found, *wanted; } cases[] = {
        {"blk.1.attn_q.weight", 32, 192, "[32, 192]", "[32, 256]"}, {"blk.0.attn_norm.weight", 33, 0, "[33]", "[32]"},
        {"blk.0.ffn_down.weight", 32, 96, "[32, 96]", "[96, 32]"},  {"token_embd.weight", 32, 41, "[32, 41]", "[32, 40]"},
        {"output_norm.weight", 32, 2, "[32, 2]", "[32]"},           {"blk.0.attn_k.weight", 8192, 0, "[8192]", "[32, 128]"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        model_spec s = tiny_llama;
        s.tensor = cases[i].tensor;
        s.d0 = cases[i].d0;
        s.d1 = cases[i].d1;
        test_case("%s %s", s.tensor, cases[i].found);
        check_refused(&s, device, INGOT_E_FORMAT, s.tensor, cases[i].found);
        CHECK_HAS(ingot_last_error(), cases[i].wanted);
    }
    ingot_device_close(device);
}

TEST("model/absurd values are refused by name") {
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "ref", 1))) return;
    const struct { const char *key; uint32_t value; ingot_status status; } llama[] = {
        {"llama.block_count", 0x80000000u, INGOT_E_FORMAT}, {"llama.block_count", 0, INGOT_E_FORMAT}, {"llama.block_count", 1025, INGOT_E_FORMAT},
        {"llama.embedding_length", 0xffffffffu, INGOT_E_FORMAT}, {"llama.embedding_length", 0, INGOT_E_FORMAT}, {"llama.feed_forward_length", 0x7fffffffu, INGOT_E_FORMAT},
        {"llama.context_length", 0, INGOT_E_FORMAT}, {"llama.attention.head_count", 0, INGOT_E_FORMAT}, {"llama.attention.head_count", 3, INGOT_E_FORMAT},
        {"llama.attention.head_count_kv", 0, INGOT_E_FORMAT}, {"llama.attention.head_count_kv", 8, INGOT_E_FORMAT}, {"llama.attention.key_length", 513, INGOT_E_FORMAT},
        {"llama.attention.value_length", 0xfffffff0u, INGOT_E_FORMAT}, {"llama.rope.dimension_count", 66, INGOT_E_FORMAT},
        {"llama.rope.freq_base", 9, INGOT_E_FORMAT}, {"llama.attention.layer_norm_rms_epsilon", 1, INGOT_E_FORMAT}, {"llama.expert_count", 8, INGOT_E_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof llama / sizeof llama[0]; i++) {
        model_spec s = tiny_llama;
        s.key = llama[i].key;
        s.key_value = llama[i].value;
        test_case("%s = %u", s.key, s.key_value);
        check_refused(&s, device, llama[i].status, s.key, NULL);
    }
    model_spec g = tiny_gemma3;
    g.key = "gemma3.attention.sliding_window";
    test_case("%s = 0", g.key);
    check_refused(&g, device, INGOT_E_FORMAT, g.key, NULL);
    model_spec odd = tiny_llama;
    odd.n_rot = 63;
    test_case("odd rotation");
    check_refused(&odd, device, INGOT_E_FORMAT, "63", NULL);
    model_spec scaling = tiny_llama;
    scaling.str_key = "llama.rope.scaling.type";
    scaling.str_value = "longrope";
    test_case("unknown scaling");
    check_refused(&scaling, device, INGOT_E_UNSUPPORTED, "longrope", "yarn");
    ingot_device_close(device);
}

static bool refuse(void *user, const char *what, double fraction) {
    (void)what;
    (void)fraction;
    return --*(int *)user > 0;
}

TEST("model/loading can be cancelled at any report") {
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "ref", 2))) return;
    for (int at = 1; at <= 8; at++) {
        int left = at;
        ingot_model *m = NULL;
        const ingot_model_options options = {.device = device, .progress = refuse, .progress_user = &left};
        const char *path = model_write(&tiny_llama);
        test_case("report %d", at);
        if (path) CHECK_STATUS(ingot_model_open(&m, path, &options), INGOT_E_CANCELLED);
        CHECK(m == NULL);
        model_remove(path);
    }
    ingot_device_close(device);
}

TEST("model/wrong use") {
    ingot_model *m = NULL;
    const ingot_model_options none = {0}, vocab = {.vocab_only = true};
    CHECK_STATUS(ingot_model_open(&m, "x.gguf", &none), INGOT_E_INVALID);
    CHECK_STATUS(ingot_model_open(&m, NULL, &vocab), INGOT_E_INVALID);
    CHECK_STATUS(ingot_model_open(NULL, "x.gguf", &vocab), INGOT_E_INVALID);
    CHECK_STATUS(ingot_model_open(&m, "/no/such/model.gguf", &vocab), INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), "/no/such/model.gguf");
    ingot_model_close(NULL);
}

/* Each allocation of opening a model and an engine fails in turn. */
TEST("model/every failing allocation is an error without a leak") {
    ingot_device *device = NULL;
    if (!CHECK_OK(ingot_device_open(&device, "cpu", 1))) return;
    ingot_engine_config config = {.n_ctx = 64, .max_sessions = 1};
    CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "q8_0", .window = -1, .sinks = -1}));
    const char *path = model_write(&tiny_llama);
    const ingot_model_options options = {.device = device};
    size_t before[INGOT_MEM_N_TAGS];
    for (int t = 0; t < INGOT_MEM_N_TAGS; t++) before[t] = ingot_mem_bytes((ingot_mem_tag)t);
    bool done = false;
    long n = 1;
    for (; path && !done && n < 4000; n++) {
        ingot_model *m = NULL;
        ingot_engine *e = NULL;
        ingot_session *s = NULL;
        test_case("allocation %ld", n);
        ingot_mem_fail_at(n);
        ingot_status st = ingot_model_open(&m, path, &options);
        if (st == INGOT_OK) st = ingot_engine_create(&e, m, &config);
        if (st == INGOT_OK) st = ingot_session_create(&s, e);
        ingot_mem_fail_at(0);
        done = st == INGOT_OK;
        if (!done) CHECK_STATUS(st, INGOT_E_NOMEM);
        ingot_session_destroy(s);
        ingot_engine_destroy(e);
        ingot_model_close(m);
        for (int t = 0; t < INGOT_MEM_N_TAGS; t++) CHECK_INT(ingot_mem_bytes((ingot_mem_tag)t), before[t]);
    }
    CHECK(done && n > 50); /* there were that many to fail */
    model_remove(path);
    ingot_device_close(device);
}
