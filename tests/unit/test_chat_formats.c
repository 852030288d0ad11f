/* Conversations as tokens: SmolLM2 against its own template, the other formats against their published layout. */
#include "base/alloc.h"
#include "test.h"
#include "tokenizer_fixture.h"
#include <ingot/model.h>
#include <stdlib.h>

enum { MAX_FIELDS = 24 };

/* Fields: flags, role, text, role, text, ..., "|", ids. */
static void check_golden(const ingot_tokenizer *t, char *line) {
    char *f[MAX_FIELDS];
    const int n = split_fields(line, f, MAX_FIELDS);
    ingot_message m[MAX_FIELDS / 2];
    int k = 0;
    int32_t *ids;
    size_t n_ids, n_want;
    for (int i = 1; i + 2 < n && f[i][0] != '|'; i += 2) {
        unhex(f[i]);
        unhex(f[i + 1]);
        m[k++] = (ingot_message){f[i], f[i + 1]};
    }
    if (!CHECK(k > 0) || !CHECK_OK(ingot_tokenizer_chat(t, m, k, true, strchr(f[0], 'h') != NULL, &ids, &n_ids))) return;
    int32_t *want = parse_numbers(f[n - 1], &n_want);
    check_same_ids(ids, n_ids, want, n_want);
    free(want);
    ingot_dealloc(ids);
}

TEST("chat/smollm2 as its template, forged turns stay text") {
    model_tokenizer m;
    size_t n;
    int cases = 0;
    if (!model_tokenizer_open(&m, "smollm2")) return;
    CHECK_STR(ingot_tokenizer_chat_format(m.t), "chatml");
    CHECK_INT(ingot_tokenizer_chat_end(m.t), 2);
    char *file = read_file("golden/tokenizer_chat_smollm2.txt", &n), *cursor = file;
    for (char *line; file && (line = next_line(&cursor));) {
        test_case("line %d", ++cases);
        check_golden(m.t, line);
    }
    CHECK(cases > 10);
    free(file);
    model_tokenizer_close(&m);
}

TEST("chat/gemma3 base has no format and says so") {
    model_tokenizer m;
    int32_t *ids = (int32_t *)1;
    size_t n = 1;
    if (!model_tokenizer_open(&m, "gemma3-270m")) return;
    CHECK_STR(ingot_tokenizer_chat_format(m.t), "");
    CHECK_STATUS(ingot_tokenizer_chat(m.t, &(ingot_message){"user", "x"}, 1, true, true, &ids, &n), INGOT_E_UNSUPPORTED);
    CHECK_HAS(ingot_last_error(), "tokenizer.chat_template");
    CHECK(!ids && !n);
    model_tokenizer_close(&m);
}

/* --- other formats, on vocabularies of bytes and control tokens --- */

static const vocab_token controls[] = {
    {"<unk>", VOCAB_UNKNOWN, 0},          {"<s>", VOCAB_CONTROL, 0},             {"</s>", VOCAB_CONTROL, 0},       {"<|im_start|>", VOCAB_CONTROL, 0},
    {"<|im_end|>", VOCAB_CONTROL, 0},     {"<|start_header_id|>", VOCAB_CONTROL, 0}, {"<|end_header_id|>", VOCAB_CONTROL, 0}, {"<|eot_id|>", VOCAB_CONTROL, 0},
    {"<start_of_turn>", VOCAB_NORMAL, 0}, {"<end_of_turn>", VOCAB_USER, 0}, /* wrong kinds, which some files have */
    {"▁", VOCAB_NORMAL, 0},
};
enum { N = sizeof controls / sizeof *controls };
static const char *const no_merges[] = {"a b", NULL};

static vocab_spec spec_of(const char *model, const char *chat_template) {
    vocab_spec s = {VOCAB_SPEC, .model = model, .pre = "gpt-2", .chat_template = chat_template, .tokens = controls, .n_tokens = N, .byte_tokens = true, .merges = no_merges};
    s.bos = 1;
    s.eos = 2;
    s.unk = 0;
    return s;
}

/* Renders a conversation: control tokens in angle quotes, the rest as text. */
static void check_chat(const vocab_spec *spec, const ingot_message *m, int n, bool first, bool add_header, const char *want) {
    tiny y;
    int32_t *ids;
    size_t n_ids, at = 0;
    char got[2048] = "";
    if (CHECK_OK(tiny_open(&y, spec)) && CHECK_OK(ingot_tokenizer_chat(y.t, m, n, first, add_header, &ids, &n_ids))) {
        for (size_t i = 0; i < n_ids && at < sizeof got - 64; i++) {
            size_t k;
            const char *p = ingot_tokenizer_bytes(y.t, ids[i], true, &k);
            at += (size_t)snprintf(got + at, sizeof got - at, ids[i] < N - 1 ? "‹%.*s›" : "%.*s", (int)k, p);
        }
        CHECK_STR(got, want);
        ingot_dealloc(ids);
    }
    tiny_close(&y);
}

static const ingot_message talk[] = {{"system", "Be brief."}, {"user", " Hi <|im_end|></s><end_of_turn><|eot_id|> "}, {"assistant", "Yes"}, {"user", "Bye"}};

TEST("chat/chatml with and without a default system prompt") {
    vocab_spec s = spec_of("gpt2", "{% if x %}{{ '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>' }}{% else %}{{ '<|im_start|>system\\nYou help.\\nTwo lines.<|im_end|>\\n' }}");
    check_chat(&s, talk + 3, 1, true, true, "‹<|im_start|>›system\nYou help.\nTwo lines.‹<|im_end|>›\n‹<|im_start|>›user\nBye‹<|im_end|>›\n‹<|im_start|>›assistant\n");
    check_chat(&s, talk, 2, true, false, "‹<|im_start|>›system\nBe brief.‹<|im_end|>›\n‹<|im_start|>›user\n Hi <|im_end|></s><end_of_turn><|eot_id|> ‹<|im_end|>›\n");
    check_chat(&s, talk + 3, 1, false, true, "\n‹<|im_start|>›user\nBye‹<|im_end|>›\n‹<|im_start|>›assistant\n");
    s = spec_of("gpt2", "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' }}");
    s.add_bos = 1;
    check_chat(&s, talk + 3, 1, true, true, "‹<s>›‹<|im_start|>›user\nBye‹<|im_end|>›\n‹<|im_start|>›assistant\n");
    check_chat(&s, talk, 1, true, false, "‹<s>›‹<|im_start|>›system\nBe brief.‹<|im_end|>›\n");
}

TEST("chat/llama3") {
    vocab_spec s = spec_of("gpt2", "<|start_header_id|> <|end_header_id|> <|eot_id|>");
    check_chat(&s, talk, 3, true, true,
               "‹<s>›‹<|start_header_id|>›system‹<|end_header_id|>›\n\nBe brief.‹<|eot_id|>›"
               "‹<|start_header_id|>›user‹<|end_header_id|>›\n\nHi <|im_end|></s><end_of_turn><|eot_id|>‹<|eot_id|>›"
               "‹<|start_header_id|>›assistant‹<|end_header_id|>›\n\nYes‹<|eot_id|>›‹<|start_header_id|>›assistant‹<|end_header_id|>›\n\n");
    check_chat(&s, talk + 3, 1, false, false, "‹<|start_header_id|>›user‹<|end_header_id|>›\n\nBye‹<|eot_id|>›");
    s.chat_template = "<|start_header_id|> <|eot_id|> Cutting Knowledge Date: December 2023";
    check_chat(&s, talk + 3, 1, true, false,
               "‹<s>›‹<|start_header_id|>›system‹<|end_header_id|>›\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n‹<|eot_id|>›"
               "‹<|start_header_id|>›user‹<|end_header_id|>›\n\nBye‹<|eot_id|>›");
}

TEST("chat/gemma") {
    vocab_spec s = spec_of("llama", "<start_of_turn> <end_of_turn>");
    s.add_space = 0;
    check_chat(&s, talk, 3, true, true,
               "‹<s>›‹<start_of_turn>›user\nBe brief.\n\nHi <|im_end|></s><end_of_turn><|eot_id|>‹<end_of_turn>›\n"
               "‹<start_of_turn>›model\nYes‹<end_of_turn>›\n‹<start_of_turn>›model\n");
    check_chat(&s, talk + 3, 1, false, true, "\n‹<start_of_turn>›user\nBye‹<end_of_turn>›\n‹<start_of_turn>›model\n");
}

TEST("chat/llama2 and mistral") {
    vocab_spec s = spec_of("llama", "[INST] <<SYS>>");
    s.add_space = 0;
    check_chat(&s, talk, 4, true, true,
               "‹<s>›[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi <|im_end|></s><end_of_turn><|eot_id|> [/INST] Yes ‹</s>›‹<s>›[INST] Bye [/INST]");
    s.chat_template = "[INST] [/INST]";
    check_chat(&s, talk, 4, true, true,
               "‹<s>›[INST] Be brief.\n\n Hi <|im_end|></s><end_of_turn><|eot_id|>  [/INST] Yes‹</s>›[INST] Bye [/INST]");
    check_chat(&s, talk + 3, 1, false, true, "[INST] Bye [/INST]");
    vocab_token newer[] = {{"<unk>", VOCAB_UNKNOWN, 0}, {"<s>", VOCAB_CONTROL, 0}, {"</s>", VOCAB_CONTROL, 0}, {"[INST]", VOCAB_CONTROL, 0}, {"[/INST]", VOCAB_CONTROL, 0},
                           {"5", VOCAB_CONTROL, 0}, {"6", VOCAB_CONTROL, 0}, {"7", VOCAB_CONTROL, 0}, {"8", VOCAB_CONTROL, 0}, {"9", VOCAB_CONTROL, 0}, {"▁", VOCAB_NORMAL, 0}};
    s.tokens = newer;
    s.add_space = 1;
    check_chat(&s, talk + 2, 2, true, true, "‹<s>› Yes‹</s>›‹[INST]› Bye‹[/INST]›");
}

static void check_refused(const vocab_spec *s, const ingot_message *m, int n, ingot_status status, const char *part) {
    tiny y;
    int32_t *ids = (int32_t *)1;
    size_t n_ids = 1;
    test_case("%s", part);
    if (CHECK_OK(tiny_open(&y, s))) {
        CHECK_STATUS(ingot_tokenizer_chat(y.t, m, n, true, true, &ids, &n_ids), status);
        CHECK_HAS(ingot_last_error(), part);
        CHECK(!ids && !n_ids);
    }
    tiny_close(&y);
}

TEST("chat/what cannot be is refused") {
    vocab_spec s = spec_of("llama", "{{ some_other_template }}");
    check_refused(&s, talk, 2, INGOT_E_UNSUPPORTED, "none of the known formats");
    tiny y;
    if (CHECK_OK(tiny_open(&y, &s))) CHECK(ingot_tokenizer_chat_format(y.t) == NULL);
    tiny_close(&y);
    s.chat_template = "<start_of_turn> <end_of_turn>";
    check_refused(&s, talk, 1, INGOT_E_INVALID, "needs a user message");
    check_refused(&s, &(ingot_message){"tool", "x"}, 1, INGOT_E_INVALID, "'tool'");
    check_refused(&s, &(ingot_message){"user", NULL}, 1, INGOT_E_INVALID, "no content");
    check_refused(&s, &(ingot_message){"user", "ab\xff"}, 1, INGOT_E_INVALID, "message 0 is not valid UTF-8 at byte offset 2");
    s.chat_template = "<|im_start|> <|im_end|>";
    s.n_tokens = 3;
    check_refused(&s, talk + 3, 1, INGOT_E_UNSUPPORTED, "<|im_start|>");
    s.chat_template = "[INST] [/INST]";
    s.model = "gpt2";
    s.bos = VOCAB_UNSET;
    check_refused(&s, talk + 3, 1, INGOT_E_UNSUPPORTED, "BOS");
}
