/* Builds small tokenizers as GGUF images; for the unit tests and the fuzz target. It writes what it is told and checks nothing. */
#ifndef INGOT_TEST_TOKENIZER_VOCAB_H
#define INGOT_TEST_TOKENIZER_VOCAB_H
#include "gguf/gguf.h"
#include <string.h>

enum { VOCAB_NORMAL = 1, VOCAB_UNKNOWN, VOCAB_CONTROL, VOCAB_USER, VOCAB_UNUSED, VOCAB_BYTE };
enum { VOCAB_UNSET = -1 }; /* leaves the key out */

typedef struct vocab_token { const char *text; int kind; float score; } vocab_token;

/* NULL and VOCAB_UNSET leave a key out. Start from VOCAB_SPEC. */
typedef struct vocab_spec {
    const char *model, *pre, *chat_template;
    const vocab_token *tokens; /* [n_tokens] first in the vocabulary */
    int n_tokens;
    bool byte_tokens;          /* one for each byte at the end, as the model writes them */
    const char *const *merges; /* NULL-terminated */
    int add_bos, add_space, bos, eos, unk;
} vocab_spec;
#define VOCAB_SPEC .add_bos = VOCAB_UNSET, .add_space = VOCAB_UNSET, .bos = VOCAB_UNSET, .eos = VOCAB_UNSET, .unk = VOCAB_UNSET

typedef struct vocab_image { uint8_t p[1 << 15]; size_t n; uint32_t n_keys; } vocab_image;

static inline void vocab_raw(vocab_image *m, const void *p, size_t n) {
    if (n > sizeof m->p - m->n) __builtin_trap(); /* the test asks for more than the image holds */
    memcpy(m->p + m->n, p, n);
    m->n += n;
}
static inline void vocab_u32(vocab_image *m, uint32_t v) { vocab_raw(m, &v, 4); }
static inline void vocab_u64(vocab_image *m, uint64_t v) { vocab_raw(m, &v, 8); }
static inline void vocab_str(vocab_image *m, const char *s) {
    vocab_u64(m, strlen(s));
    vocab_raw(m, s, strlen(s));
}
static inline void vocab_key(vocab_image *m, const char *key, uint32_t type) {
    vocab_str(m, key);
    vocab_u32(m, type);
    m->n_keys++;
}
static inline void vocab_key_str(vocab_image *m, const char *key, const char *v) {
    if (!v) return;
    vocab_key(m, key, 8);
    vocab_str(m, v);
}
static inline void vocab_key_u32(vocab_image *m, const char *key, int v) {
    if (v == VOCAB_UNSET) return;
    vocab_key(m, key, 4);
    vocab_u32(m, (uint32_t)v);
}
static inline void vocab_key_bool(vocab_image *m, const char *key, int v) {
    if (v == VOCAB_UNSET) return;
    vocab_key(m, key, 7);
    vocab_raw(m, &(uint8_t){(uint8_t)v}, 1);
}
static inline void vocab_key_array(vocab_image *m, const char *key, uint32_t type, int n) {
    vocab_key(m, key, 9);
    vocab_u32(m, type);
    vocab_u64(m, (uint64_t)n);
}

/* How a byte is written in a byte-level vocabulary. */
static inline void vocab_byte_letter(int b, char out[4]) {
    int cp = b, skipped = 0;
    for (int i = 0; i <= b; i++) {
        const bool printable = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174;
        if (i == b) cp = printable ? b : 256 + skipped;
        else skipped += !printable;
    }
    if (cp < 0x80) memcpy(out, (char[4]){(char)cp}, 4);
    else memcpy(out, (char[4]){(char)(0xC0 | cp >> 6), (char)(0x80 | (cp & 0x3F))}, 4);
}
static inline void vocab_byte_name(int b, char out[8]) {
    memcpy(out, "<0x00>\0", 8);
    out[3] = "0123456789ABCDEF"[b >> 4];
    out[4] = "0123456789ABCDEF"[b & 15];
}

static inline void vocab_build(vocab_image *m, const vocab_spec *s) {
    const bool spm = s->model && strcmp(s->model, "llama") == 0;
    const int total = s->n_tokens + (s->byte_tokens ? 256 : 0);
    m->n = 0;
    m->n_keys = 0;
    vocab_raw(m, "GGUF", 4);
    vocab_u32(m, 3);
    vocab_u64(m, 0);
    vocab_u64(m, 0); /* number of keys: at the end */
    vocab_key_str(m, "tokenizer.ggml.model", s->model);
    vocab_key_str(m, "tokenizer.ggml.pre", s->pre);
    vocab_key_str(m, "tokenizer.chat_template", s->chat_template);
    vocab_key_array(m, "tokenizer.ggml.tokens", 8, total);
    for (int i = 0; i < s->n_tokens; i++) vocab_str(m, s->tokens[i].text);
    for (int i = s->n_tokens; i < total; i++) {
        char text[8];
        if (spm) vocab_byte_name(i - s->n_tokens, text);
        else vocab_byte_letter(i - s->n_tokens, text);
        vocab_str(m, text);
    }
    vocab_key_array(m, "tokenizer.ggml.token_type", 5, total);
    for (int i = 0; i < total; i++) vocab_u32(m, (uint32_t)(i < s->n_tokens ? s->tokens[i].kind : spm ? VOCAB_BYTE : VOCAB_NORMAL));
    if (spm) {
        vocab_key_array(m, "tokenizer.ggml.scores", 6, total);
        for (int i = 0; i < total; i++) vocab_raw(m, &(float){i < s->n_tokens ? s->tokens[i].score : 0}, 4);
    }
    if (s->merges) {
        int n = 0;
        while (s->merges[n]) n++;
        vocab_key_array(m, "tokenizer.ggml.merges", 8, n);
        for (int i = 0; i < n; i++) vocab_str(m, s->merges[i]);
    }
    vocab_key_bool(m, "tokenizer.ggml.add_bos_token", s->add_bos);
    vocab_key_bool(m, "tokenizer.ggml.add_space_prefix", s->add_space);
    vocab_key_u32(m, "tokenizer.ggml.bos_token_id", s->bos);
    vocab_key_u32(m, "tokenizer.ggml.eos_token_id", s->eos);
    vocab_key_u32(m, "tokenizer.ggml.unknown_token_id", s->unk);
    memcpy(m->p + 16, &(uint64_t){m->n_keys}, 8);
}
#endif
