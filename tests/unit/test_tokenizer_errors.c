/* Files whose tokenizer is wrong or not supported, and memory that runs out. */
#include "base/alloc.h"
#include "test.h"
#include "tokenizer_fixture.h"
#include <ingot/model.h>

static const vocab_token tokens[] = {{"<s>", VOCAB_CONTROL, 0}, {"</s>", VOCAB_CONTROL, 0}, {"ab", VOCAB_NORMAL, 1}, {"<t>", VOCAB_USER, 0}};
static const char *const merges[] = {"a b", "b c", "bc d", NULL};

static vocab_spec bpe_spec(void) {
    return (vocab_spec){VOCAB_SPEC, .model = "gpt2", .pre = "gpt-2", .tokens = tokens, .n_tokens = 4, .byte_tokens = true, .merges = merges};
}

static void check_refused(const vocab_spec *spec, ingot_status status, const char *part) {
    tiny y;
    CHECK_STATUS(tiny_open(&y, spec), status);
    CHECK_HAS(ingot_last_error(), part);
    CHECK(!y.t);
    tiny_close(&y);
}

TEST("tokenizer/errors/what is wrong is named") {
    vocab_spec s = bpe_spec();
    s.model = NULL;
    check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.model");
    s = bpe_spec();
    s.model = "t5";
    check_refused(&s, INGOT_E_UNSUPPORTED, "'t5'");
    s = bpe_spec();
    s.pre = "tekken";
    check_refused(&s, INGOT_E_UNSUPPORTED, "'tekken'");
    s.pre = NULL;
    check_refused(&s, INGOT_E_UNSUPPORTED, "tokenizer.ggml.pre");
    s = bpe_spec();
    s.merges = NULL;
    check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.merges");
    s = bpe_spec();
    s.n_tokens = 0;
    s.byte_tokens = false;
    check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.tokens is empty");
    s = bpe_spec();
    s.bos = 260;
    check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.bos_token_id is 260");
    s = bpe_spec();
    s.eos = 1 << 30;
    check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.eos_token_id is 1073741824");
    s = bpe_spec();
    s.add_bos = 1;
    check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.bos_token_id");
}

TEST("tokenizer/errors/merges that are not two byte strings") {
    static const char *const bad[] = {"ab", "", " ", "a ", " b", "a  b", "a 中", "\xff b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const list[] = {"a b", bad[i], NULL};
        vocab_spec s = bpe_spec();
        s.merges = list;
        test_case("'%s'", bad[i]);
        check_refused(&s, INGOT_E_FORMAT, "tokenizer.ggml.merges[1]");
    }
}

/* Replaces every occurrence of `from` in the image by `to`, both of n bytes. */
static void patch(vocab_image *m, const char *from, const char *to, size_t n) {
    for (size_t i = 0; i + n <= m->n; i++)
        if (memcmp(m->p + i, from, n) == 0) memcpy(m->p + i, to, n);
}

static void check_patched(const vocab_spec *spec, const char *from, const char *to, size_t n, const char *part) {
    static vocab_image m;
    ingot_gguf *g;
    ingot_tokenizer *t;
    test_case("%s", part);
    vocab_build(&m, spec);
    patch(&m, from, to, n);
    if (!CHECK_OK(ingot_gguf_open_memory(&g, m.p, m.n))) return;
    CHECK_STATUS(ingot_tokenizer_open(&t, g), INGOT_E_FORMAT);
    CHECK_HAS(ingot_last_error(), part);
    CHECK(!t);
    ingot_tokenizer_close(t);
    ingot_gguf_close(g);
}

TEST("tokenizer/errors/keys that are missing or hold something else") {
    static const vocab_token scored[] = {{"<unk>", VOCAB_UNKNOWN, 0}, {"<s>", VOCAB_CONTROL, 0}, {"</s>", VOCAB_CONTROL, 0}, {"a", VOCAB_NORMAL, 1.5f}};
    const vocab_spec s = {VOCAB_SPEC, .model = "llama", .tokens = scored, .n_tokens = 4, .byte_tokens = true};
    check_patched(&s, "tokenizer.ggml.scores", "tokenizer.ggml.scoreX", 21, "tokenizer.ggml.scores is missing");
    check_patched(&s, "tokenizer.ggml.tokens", "tokenizer.ggml.tokenX", 21, "tokenizer.ggml.tokens is missing");
    check_patched(&s, "\x00\x00\xc0\x3f", "\x00\x00\xc0\x7f", 4, "tokenizer.ggml.scores[3] is not a number");
    /* The type of the array's elements follows the key and the array's own type. */
    check_patched(&s, "scores\x09\0\0\0\x06", "scores\x09\0\0\0\x05", 11, "tokenizer.ggml.scores");
    check_patched(&s, "token_type\x09\0\0\0\x05", "token_type\x09\0\0\0\x06", 15, "tokenizer.ggml.token_type");
}

TEST("tokenizer/errors/a failing allocation anywhere is reported") {
    static const vocab_token spm_tokens[] = {{"<s>", VOCAB_CONTROL, 0}, {"</s>", VOCAB_CONTROL, 0}, {"▁", VOCAB_NORMAL, 1}, {"▁a", VOCAB_NORMAL, 2}};
    vocab_spec spm = {VOCAB_SPEC, .model = "llama", .tokens = spm_tokens, .n_tokens = 4, .byte_tokens = true, .chat_template = "[INST] [/INST]"};
    spm.bos = 0;
    spm.eos = 1;
    const vocab_spec bpe = bpe_spec();
    const ingot_message chat[] = {{"system", "s"}, {"user", "a b a b a b"}, {"assistant", "x"}, {"user", "y"}};
    for (int which = 0; which < 2; which++) {
        tiny y;
        bool done = false;
        for (long n = 1; !done && n < 500; n++) {
            const size_t before = ingot_mem_bytes(INGOT_MEM_TOKENIZER);
            int32_t *ids = NULL, *chat_ids = NULL;
            char *text = NULL;
            size_t k, n_text;
            test_case("%s, allocation %ld", which ? "llama" : "gpt2", n);
            ingot_mem_fail_at(n);
            ingot_status s = tiny_open(&y, which ? &spm : &bpe);
            if (s == INGOT_OK) s = ingot_tokenizer_encode(y.t, "a b <t>hello  world", 19, 0, &ids, &k);
            if (s == INGOT_OK) s = ingot_tokenizer_decode(y.t, ids, k, true, &text, &n_text);
            if (s == INGOT_OK && which) s = ingot_tokenizer_chat(y.t, chat, 4, true, true, &chat_ids, &k);
            ingot_mem_fail_at(0);
            done = s == INGOT_OK;
            if (!done) CHECK_STATUS(s, INGOT_E_NOMEM);
            ingot_dealloc(chat_ids);
            ingot_dealloc(text);
            ingot_dealloc(ids);
            tiny_close(&y);
            CHECK_INT(ingot_mem_bytes(INGOT_MEM_TOKENIZER), before);
        }
        CHECK(done);
    }
}
