/* libFuzzer target: any bytes as a text for tiny tokenizers of both kinds. Valid UTF-8 must come back from decoding, the rest
 * must be refused; no control token may come out unless asked for. The first byte chooses the vocabulary and the flags. */
#include "../unit/tokenizer_vocab.h"
#include "base/alloc.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"
#include <ingot/model.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIRST_FREE = 5 };
#define SPECIALS {"<unk>", VOCAB_UNKNOWN, 0}, {"<s>", VOCAB_CONTROL, 0}, {"</s>", VOCAB_CONTROL, 0}, {"<|im_start|>", VOCAB_CONTROL, 0}, {"<|im_end|>", VOCAB_CONTROL, 0}

static const vocab_token bpe_tokens[] = {
    SPECIALS, {"he", VOCAB_NORMAL, 0}, {"ll", VOCAB_NORMAL, 0}, {"hell", VOCAB_NORMAL, 0}, {"aa", VOCAB_NORMAL, 0}, {"aaaa", VOCAB_NORMAL, 0},
    {"Ġa", VOCAB_NORMAL, 0}, {"ĠĠ", VOCAB_NORMAL, 0}, {"xyz", VOCAB_NORMAL, 0}, {"\n\n", VOCAB_USER, 0}, {"Ã¼", VOCAB_NORMAL, 0},
};
static const char *const merges[] = {"l l", "h e", "he ll", "a a", "aa aa", "Ġ a", "Ġ Ġ", "x y", "xy z", "Ã ¼", "< s", "<s >", "1 2", NULL};
static const vocab_token spm_tokens[] = {
    SPECIALS, {"▁", VOCAB_NORMAL, -9}, {"a", VOCAB_NORMAL, -8}, {"aa", VOCAB_NORMAL, -2}, {"▁a", VOCAB_NORMAL, -1}, {"▁▁", VOCAB_NORMAL, -1},
    {"a▁b", VOCAB_NORMAL, 1}, {"a▁", VOCAB_NORMAL, -1}, {"ü", VOCAB_NORMAL, -7}, {"<s", VOCAB_NORMAL, 0}, {"\t\t", VOCAB_USER, 0}, {"aaaa", VOCAB_NORMAL, 0},
};

enum { N_TOKENIZERS = 6 };
static ingot_tokenizer *open_one(int i) {
    static vocab_image images[N_TOKENIZERS];
    static const char *const pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"};
    vocab_spec s = {VOCAB_SPEC, .byte_tokens = true, .chat_template = "<|im_start|> <|im_end|>"};
    s.bos = 1;
    s.eos = 2;
    if (i < 4) {
        s.model = "gpt2";
        s.pre = pres[i];
        s.tokens = bpe_tokens;
        s.n_tokens = sizeof bpe_tokens / sizeof *bpe_tokens;
        s.merges = merges;
    } else {
        s.model = "llama";
        s.tokens = spm_tokens;
        s.n_tokens = sizeof spm_tokens / sizeof *spm_tokens;
        s.add_space = i - 4;
    }
    static ingot_gguf *files[N_TOKENIZERS]; /* kept open: a tokenizer reads its file */
    ingot_tokenizer *t;
    vocab_build(&images[i], &s);
    if (ingot_gguf_open_memory(&files[i], images[i].p, images[i].n) != INGOT_OK || ingot_tokenizer_open(&t, files[i]) != INGOT_OK) __builtin_trap();
    return t;
}

static void check_encoding(const ingot_tokenizer *t, const char *text, size_t n, int flags, bool valid) {
    int32_t *ids;
    size_t n_ids, n_back, n_bos = 0;
    char *back;
    const ingot_status s = ingot_tokenizer_encode(t, text, n, flags, &ids, &n_ids);
    if (s != (valid ? INGOT_OK : INGOT_E_INVALID)) __builtin_trap();
    if (!valid) return;
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || ids[i] >= ingot_tokenizer_size(t)) __builtin_trap();
        if (ids[i] < FIRST_FREE && !flags) __builtin_trap();
        n_bos += ids[i] == ingot_tokenizer_bos(t);
    }
    if (flags == INGOT_TOKENIZE_BOS && n_bos != ingot_tokenizer_adds_bos(t)) __builtin_trap();
    if (ingot_tokenizer_decode(t, ids, n_ids, !(flags & INGOT_TOKENIZE_BOS), &back, &n_back) != INGOT_OK) __builtin_trap();
    if (!(flags & INGOT_TOKENIZE_SPECIAL) && (n_back != n || memcmp(back, text, n) != 0)) __builtin_trap();
    ingot_dealloc(back);
    ingot_dealloc(ids);
}

/* A message adds no control tokens to those of the format: start, end, start. */
static void check_chat(const ingot_tokenizer *t, const char *text, size_t n, bool valid) {
    char content[4096];
    int32_t *ids;
    size_t n_ids, controls = 0;
    if (n >= sizeof content || memchr(text, 0, n)) return;
    memcpy(content, text, n);
    content[n] = 0;
    const ingot_status s = ingot_tokenizer_chat(t, &(struct ingot_message){"user", content}, 1, false, true, &ids, &n_ids);
    if (s != (valid ? INGOT_OK : INGOT_E_INVALID)) __builtin_trap();
    if (!valid) return;
    for (size_t i = 0; i < n_ids; i++) controls += ids[i] < FIRST_FREE;
    if (controls != 3) __builtin_trap();
    ingot_dealloc(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ingot_tokenizer *t[N_TOKENIZERS];
    if (!size) return 0;
    const int which = data[0] % N_TOKENIZERS, flags = data[0] / N_TOKENIZERS % 4;
    if (!t[which]) t[which] = open_one(which);
    const char *text = (const char *)data + 1;
    const size_t n = size - 1;
    const bool valid = ingot_utf8_check(text, n) == n;
    check_encoding(t[which], text, n, flags, valid);
    check_chat(t[which], text, n, valid);
    return 0;
}
