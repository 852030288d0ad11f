/* SentencePiece-style encoding with vocabularies small enough to follow by hand. */
#include "base/alloc.h"
#include "test.h"
#include "tokenizer_fixture.h"
#include <ingot/model.h>
#include <stdlib.h>
#include <time.h>

/* Ids 0..; the 256 byte tokens follow when asked for. */
static const vocab_token tokens[] = {
    {"<unk>", VOCAB_UNKNOWN, 0},  {"<s>", VOCAB_CONTROL, 0},     {"</s>", VOCAB_CONTROL, 0}, {"▁", VOCAB_NORMAL, -10},  {"a", VOCAB_NORMAL, -11},
    {"b", VOCAB_NORMAL, -12},     {"c", VOCAB_NORMAL, -13},      {"ab", VOCAB_NORMAL, -2},   {"bc", VOCAB_NORMAL, -1},  {"abc", VOCAB_NORMAL, -3},
    {"▁a", VOCAB_NORMAL, -1.5f},  {"▁▁", VOCAB_NORMAL, -4},      {"aa", VOCAB_NORMAL, -2},   {"aaaa", VOCAB_NORMAL, 0}, {"a▁b", VOCAB_NORMAL, 1},
    {"<", VOCAB_NORMAL, -20},     {"s", VOCAB_NORMAL, -20},      {">", VOCAB_NORMAL, -20},   {"<s", VOCAB_NORMAL, -1},  {"\n\n", VOCAB_USER, 0},
    {"é", VOCAB_NORMAL, -30},     {"a▁", VOCAB_NORMAL, -0.5f},
};
enum { N = sizeof tokens / sizeof *tokens };

static vocab_spec spec_of(int add_space) {
    vocab_spec s = {VOCAB_SPEC, .model = "llama", .tokens = tokens, .n_tokens = N, .byte_tokens = true};
    s.add_space = add_space;
    s.add_bos = 0;
    return s;
}

TEST("tokenizer/spm/merges by score, the leftmost first") {
    const vocab_spec spec = spec_of(0);
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "abc", 0, "‹abc›"); /* bc first (-1), then a + bc */
        check_pieces(y.t, "ab", 0, "‹ab›");
        check_pieces(y.t, "aaa", 0, "‹aa›‹a›");
        check_pieces(y.t, "aaaaaaa", 0, "‹aaaa›‹aa›‹a›");
        check_pieces(y.t, "abcbc", 0, "‹abc›‹bc›");
        check_pieces(y.t, "b a", 0, "‹b›‹ a›");
        check_pieces(y.t, "a b", 0, "‹a b›"); /* a token that reaches over the space */
        check_pieces(y.t, "b   b", 0, "‹b›‹  ›‹ ›‹b›");
    }
    tiny_close(&y);
}

TEST("tokenizer/spm/characters that are no token become bytes") {
    const vocab_spec spec = spec_of(0);
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_ids(y.t, "é", 0, "20");
        check_ids(y.t, "ü", 0, "217 210"); /* 22 + 0xC3, 22 + 0xBC */
        check_ids(y.t, "a\n", 0, "4 32");
        check_ids(y.t, "<0x41>", 0, "15 70 142 74 71 17"); /* the name of a byte token is text */
        check_ids(y.t, "<0x41>", INGOT_TOKENIZE_SPECIAL, "15 70 142 74 71 17");
        static const char mixed[] = "Füße 你好 😊\0 \x01\n\n\n";
        check_round_trip(y.t, mixed, sizeof mixed - 1);
    }
    tiny_close(&y);
}

TEST("tokenizer/spm/the space in front comes and goes") {
    tiny y;
    const vocab_spec spec = spec_of(VOCAB_UNSET); /* the default is to add it */
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "a", 0, "‹ a›");
        check_pieces(y.t, "b", 0, "‹ ›‹b›");
        check_pieces(y.t, " a", 0, "‹ ›‹ a›");
        check_pieces(y.t, "a</s>a", INGOT_TOKENIZE_SPECIAL, "‹ a›‹</s>›‹ a›"); /* after a matched token as well */
        check_pieces(y.t, "", 0, "");
        check_pieces(y.t, "a\n\na", 0, "‹ a›‹\n\n›‹ a›");
        static const char *const texts[] = {"a", " a", "  a", "", " ", "\n\na \n\n\n\n a", "b c", "\n\n", "x"};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            test_case("round trip %zu", i);
            check_round_trip(y.t, texts[i], strlen(texts[i]));
        }
    }
    tiny_close(&y);
}

TEST("tokenizer/spm/U+2581 in a text is not a space") {
    for (int add_space = 0; add_space <= 1; add_space++) {
        const vocab_spec spec = spec_of(add_space);
        tiny y;
        if (CHECK_OK(tiny_open(&y, &spec))) {
            check_round_trip(y.t, "a▁b", strlen("a▁b"));
            check_round_trip(y.t, "▁a ▁▁ ▁", strlen("▁a ▁▁ ▁"));
            if (!add_space) check_ids(y.t, "a▁b", 0, "4 248 172 151 5");
        }
        tiny_close(&y);
    }
}

TEST("tokenizer/spm/a text never becomes a control token") {
    const vocab_spec spec = spec_of(0);
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "<s>", 0, "‹<s›‹>›"); /* merging would go on to <s> */
        check_ids(y.t, "<s>", INGOT_TOKENIZE_SPECIAL, "1");
        check_ids(y.t, "a<unk>a", INGOT_TOKENIZE_SPECIAL, "4 0 4");
    }
    tiny_close(&y);
}

TEST("tokenizer/spm/exactly one BOS, by default") {
    vocab_spec spec = spec_of(0);
    spec.add_bos = VOCAB_UNSET;
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        CHECK_INT(ingot_tokenizer_bos(y.t), 1);
        CHECK(ingot_tokenizer_is_end(y.t, 2));
        check_ids(y.t, "a", INGOT_TOKENIZE_BOS, "1 4");
        check_ids(y.t, "<s>a", INGOT_TOKENIZE_BOS | INGOT_TOKENIZE_SPECIAL, "1 4");
        check_ids(y.t, "", INGOT_TOKENIZE_BOS | INGOT_TOKENIZE_SPECIAL, "1");
        check_ids(y.t, "a", 0, "4");
    }
    tiny_close(&y);
}

TEST("tokenizer/spm/without byte tokens the unknown token stands in") {
    vocab_spec spec = spec_of(0);
    spec.byte_tokens = false;
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) check_ids(y.t, "aüb", 0, "4 0 5");
    tiny_close(&y);
}

TEST("tokenizer/spm/one megabyte of one letter, of spaces, of Chinese") {
    static const char *const units[] = {"a", " ", "\n", "中", "ab ", "é"};
    const vocab_spec spec = spec_of(1);
    const size_t n = 1 << 20;
    char *text = malloc(n);
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec)) && CHECK(text != NULL))
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            const size_t k = strlen(units[u]), whole = n / k * k;
            for (size_t i = 0; i < whole; i++) text[i] = units[u][i % k];
            test_case("unit %zu", u);
            const clock_t start = clock();
            check_round_trip(y.t, text, whole);
            CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 10);
        }
    tiny_close(&y);
    free(text);
}
