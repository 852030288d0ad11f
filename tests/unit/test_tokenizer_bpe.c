/* Byte-pair encoding with vocabularies small enough to follow by hand. */
#include "base/alloc.h"
#include "test.h"
#include "tokenizer_fixture.h"
#include <ingot/model.h>
#include <stdlib.h>
#include <time.h>

/* Ids 0..; the 256 bytes follow. Ġ is the letter of the space. */
static const vocab_token tokens[] = {
    {"<|end|>", VOCAB_CONTROL, 0}, {"<s>", VOCAB_CONTROL, 0}, {"he", VOCAB_NORMAL, 0},   {"ll", VOCAB_NORMAL, 0},     {"hell", VOCAB_NORMAL, 0},
    {"Ġw", VOCAB_NORMAL, 0},       {"aa", VOCAB_NORMAL, 0},   {"aaaa", VOCAB_NORMAL, 0}, {"xyz", VOCAB_NORMAL, 0},    {"hello", VOCAB_NORMAL, 0},
    {"    ", VOCAB_USER, 0},       {"  ", VOCAB_USER, 0},     {"ctl", VOCAB_CONTROL, 0}, {"<unk>", VOCAB_UNKNOWN, 0}, {"<s><s>", VOCAB_USER, 0},
};
enum { N = sizeof tokens / sizeof *tokens, CTL = 12 };
/* "x y" makes "xy", which is no token; "ct l" would make the control token. */
static const char *const merges[] = {"l l", "h e", "he ll", "Ġ w", "a a", "aa aa", "x y", "xy z", "c t", "ct l", NULL};

static vocab_spec spec_of(const char *pre) {
    return (vocab_spec){VOCAB_SPEC, .model = "gpt2", .pre = pre, .tokens = tokens, .n_tokens = N, .byte_tokens = true, .merges = merges};
}

TEST("tokenizer/bpe/merges by rank, the leftmost first") {
    const vocab_spec spec = spec_of("gpt-2");
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "hell", 0, "‹hell›");
        check_pieces(y.t, "hello world", 0, "‹hell›‹o›‹ w›‹o›‹r›‹l›‹d›");
        check_pieces(y.t, "aaa", 0, "‹aa›‹a›");
        check_pieces(y.t, "aaaaaaa", 0, "‹aaaa›‹aa›‹a›");
        check_pieces(y.t, "lll", 0, "‹ll›‹l›");
        check_pieces(y.t, "", 0, "");
    }
    tiny_close(&y);
}

TEST("tokenizer/bpe/what is merged but no token falls back to bytes") {
    const vocab_spec spec = spec_of("gpt-2");
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "xyz", 0, "‹xyz›");
        check_pieces(y.t, "xy xyx", 0, "‹x›‹y›‹ ›‹x›‹y›‹x›");
    }
    tiny_close(&y);
}

TEST("tokenizer/bpe/whole words before merges, where the model wants it") {
    vocab_spec spec = spec_of("llama-bpe");
    spec.add_bos = 0;
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "hello", 0, "‹hello›");
        check_pieces(y.t, "hellob", 0, "‹hell›‹o›‹b›");
        check_pieces(y.t, "ctl", 0, "‹c›‹t›‹l›"); /* not by this way either */
    }
    tiny_close(&y);
}

TEST("tokenizer/bpe/control tokens only when asked for, user-defined ones always") {
    const vocab_spec spec = spec_of("gpt-2");
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_pieces(y.t, "ctl", 0, "‹c›‹t›‹l›");
        check_ids(y.t, "ctl", INGOT_TOKENIZE_SPECIAL, "12");
        check_pieces(y.t, "<s>a", 0, "‹<›‹s›‹>›‹a›");
        check_ids(y.t, "<s><|end|><unk>", INGOT_TOKENIZE_SPECIAL, "1 0 13");
        check_ids(y.t, "<s><s>", INGOT_TOKENIZE_SPECIAL, "14"); /* the longest */
        check_ids(y.t, "<s><s>", 0, "14");
        check_pieces(y.t, "       a", 0, "‹    ›‹  ›‹ ›‹a›");
        check_pieces(y.t, "<|end", INGOT_TOKENIZE_SPECIAL, "‹<›‹|›‹e›‹n›‹d›");
        size_t n;
        ingot_tokenizer_bytes(y.t, CTL, false, &n);
        CHECK_INT(n, 0);
        CHECK(memcmp(ingot_tokenizer_bytes(y.t, CTL, true, &n), "ctl", 3) == 0 && n == 3);
        CHECK_STR(ingot_tokenizer_bytes(y.t, -1, true, &n), "");
        CHECK_STR(ingot_tokenizer_bytes(y.t, N + 256, true, &n), "");
        CHECK(ingot_tokenizer_is_end(y.t, 0) && !ingot_tokenizer_is_end(y.t, 1) && !ingot_tokenizer_is_end(y.t, -1));
    }
    tiny_close(&y);
}

TEST("tokenizer/bpe/exactly one BOS") {
    vocab_spec spec = spec_of("gpt-2");
    const int both = INGOT_TOKENIZE_BOS | INGOT_TOKENIZE_SPECIAL;
    spec.bos = 1;
    for (int add = -1; add <= 1; add++) {
        tiny y;
        spec.add_bos = add;
        if (CHECK_OK(tiny_open(&y, &spec))) {
            check_ids(y.t, "hell", INGOT_TOKENIZE_BOS, add == 1 ? "1 4" : "4");
            check_ids(y.t, "hell", 0, "4");
            check_ids(y.t, "", INGOT_TOKENIZE_BOS, add == 1 ? "1" : "");
            check_ids(y.t, "<s>hell", both, "1 4");
            check_ids(y.t, "<s>hell", INGOT_TOKENIZE_SPECIAL, "1 4");
            CHECK_INT(ingot_tokenizer_bos(y.t), 1);
            CHECK_INT(ingot_tokenizer_adds_bos(y.t), add == 1);
        }
        tiny_close(&y);
    }
    spec.pre = "llama-bpe"; /* Llama 3 begins with BOS unless its file denies it */
    spec.add_bos = VOCAB_UNSET;
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) check_ids(y.t, "hell", INGOT_TOKENIZE_BOS, "1 4");
    tiny_close(&y);
}

TEST("tokenizer/bpe/invalid UTF-8 is refused with its place") {
    static const struct { const char *text; size_t n; const char *place; } bad[] = {
        {"\xff", 1, "offset 0"}, {"ab\xc3", 3, "offset 2"}, {"abcdefgh\xe2\x82", 10, "offset 8"}, {"\xed\xa0\x80", 3, "offset 0"},
        {"a\xc0\x80", 3, "offset 1"}, {"\xf4\x90\x80\x80", 4, "offset 0"}, {"\xc3\xa4\x80", 3, "offset 2"},
    };
    const vocab_spec spec = spec_of("gpt-2");
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec)))
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            int32_t *ids = (int32_t *)1;
            size_t n = 1;
            test_case("%zu", i);
            CHECK_STATUS(ingot_tokenizer_encode(y.t, bad[i].text, bad[i].n, 0, &ids, &n), INGOT_E_INVALID);
            CHECK_HAS(ingot_last_error(), bad[i].place);
            CHECK(!ids && !n);
        }
    tiny_close(&y);
}

TEST("tokenizer/bpe/every character comes back") {
    static const char *const pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"};
    static const int32_t odd[] = {0, 1, 0x7F, 0x80, 0xA0, 0xAD, 0x7FF, 0x800, 0x2581, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF};
    char text[256];
    size_t n = 0;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const int32_t c = odd[i];
        if (c < 0x80) text[n++] = (char)c;
        else if (c < 0x800) n += (size_t)snprintf(text + n, 5, "%c%c", 0xC0 | c >> 6, 0x80 | (c & 63));
        else if (c < 0x10000) n += (size_t)snprintf(text + n, 5, "%c%c%c", 0xE0 | c >> 12, 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
        else n += (size_t)snprintf(text + n, 5, "%c%c%c%c", 0xF0 | c >> 18, 0x80 | (c >> 12 & 63), 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
    }
    for (int i = 0; i < 4; i++) {
        vocab_spec spec = spec_of(pres[i]);
        spec.add_bos = 0;
        tiny y;
        test_case("%s", pres[i]);
        if (CHECK_OK(tiny_open(&y, &spec))) check_round_trip(y.t, text, n);
        tiny_close(&y);
    }
}

TEST("tokenizer/bpe/bytes without a token are left out") {
    static const vocab_token few[] = {{"a", VOCAB_NORMAL, 0}, {"b", VOCAB_NORMAL, 0}, {"ab", VOCAB_NORMAL, 0}};
    static const char *const few_merges[] = {"a b", "b c", NULL};
    const vocab_spec spec = {VOCAB_SPEC, .model = "gpt2", .pre = "gpt-2", .tokens = few, .n_tokens = 3, .merges = few_merges};
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec))) {
        check_ids(y.t, "abcba", 0, "2 1 0");
        check_ids(y.t, "bc", 0, "1");
        check_ids(y.t, "ccc", 0, "");
    }
    tiny_close(&y);
}

TEST("tokenizer/bpe/one megabyte of one letter") {
    const vocab_spec spec = spec_of("gpt-2");
    const size_t n = 1 << 20;
    char *text = malloc(n);
    tiny y;
    if (CHECK_OK(tiny_open(&y, &spec)) && CHECK(text != NULL)) {
        int32_t *ids;
        size_t n_ids;
        memset(text, 'a', n);
        const clock_t start = clock();
        if (CHECK_OK(ingot_tokenizer_encode(y.t, text, n, 0, &ids, &n_ids))) {
            CHECK_INT(n_ids, n / 4);
            CHECK_INT(ids[n_ids - 1], 7);
        }
        CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 10); /* a quadratic one would take hours; sanitizers are slow */
        ingot_dealloc(ids);
    }
    tiny_close(&y);
    free(text);
}
