#include "vocab.h"
#include "../base/alloc.h"
#include "../base/checked.h"
#include "../base/error.h"
#include "byte_alphabet.h"
#include "utf8.h"
#include <math.h>
#include <string.h>

static const char *const key_tokens = "tokenizer.ggml.tokens";

/* Texts that are control tokens whatever the file says: some converters mark them as ordinary ones, and then a user's text
 * could forge the turns of a conversation. */
static const struct marker { const char *text; bool ends; } markers[] = {
    {"<|im_start|>", false}, {"<|im_end|>", true}, {"<|start_header_id|>", false}, {"<|end_header_id|>", false},
    {"<|begin_of_text|>", false}, {"<|end_of_text|>", true}, {"<|eot_id|>", true}, {"<|eom_id|>", true},
    {"<start_of_turn>", false}, {"<end_of_turn>", true}, {"<|end|>", true}, {"<|endoftext|>", true},
};

static bool same(ingot_str s, const char *z) { return s.n == strlen(z) && memcmp(s.p, z, s.n) == 0; }

static ingot_status read_model(ingot_vocab *v, const ingot_gguf *g) {
    ingot_str model = {0};
    bool found = false;
    INGOT_TRY(ingot_gguf_get_str(g, "tokenizer.ggml.model", &model, &found));
    if (!found) return ingot_fail(INGOT_E_FORMAT, "the file has no tokenizer (no key tokenizer.ggml.model)");
    if (same(model, "gpt2")) v->model = INGOT_VOCAB_BPE;
    else if (same(model, "llama")) v->model = INGOT_VOCAB_SPM;
    else
        return ingot_fail(INGOT_E_UNSUPPORTED, "tokenizer.ggml.model '%.*s' is not supported (supported: gpt2, llama)",
                          (int)(model.n < 64 ? model.n : 64), model.p);
    return INGOT_OK;
}

static ingot_status read_texts(ingot_vocab *v, const ingot_gguf *g) {
    ingot_gguf_type type;
    uint64_t n = 0;
    bool found = false;
    INGOT_TRY(ingot_gguf_get_array(g, key_tokens, &type, &n, &found));
    if (!found || !n) return ingot_fail(INGOT_E_FORMAT, "%s is %s", key_tokens, found ? "empty" : "missing");
    if (n > INT32_MAX / 2) return ingot_fail(INGOT_E_FORMAT, "%s has %llu elements", key_tokens, (unsigned long long)n);
    v->texts = ingot_alloc_array(n, sizeof *v->texts, INGOT_MEM_TOKENIZER);
    v->kinds = ingot_alloc_array(n, sizeof *v->kinds, INGOT_MEM_TOKENIZER);
    v->ends = ingot_alloc_array(n, sizeof *v->ends, INGOT_MEM_TOKENIZER);
    v->byte_at = ingot_alloc_array(n + 1, sizeof *v->byte_at, INGOT_MEM_TOKENIZER);
    if (!v->texts || !v->kinds || !v->ends || !v->byte_at)
        return ingot_fail(INGOT_E_NOMEM, "no memory for a vocabulary of %llu tokens", (unsigned long long)n);
    v->n = (int32_t)n;
    return ingot_gguf_array_str(g, key_tokens, v->texts, n);
}

/* The length of a per-token array must be the vocabulary's. */
static ingot_status check_length(const ingot_vocab *v, const ingot_gguf *g, const char *key, bool *found) {
    ingot_gguf_type type;
    uint64_t n = 0;
    INGOT_TRY(ingot_gguf_get_array(g, key, &type, &n, found));
    if (*found && n != (uint64_t)v->n)
        return ingot_fail(INGOT_E_FORMAT, "%s has %llu elements, but the vocabulary %d", key, (unsigned long long)n, (int)v->n);
    return INGOT_OK;
}

static ingot_status read_kinds(ingot_vocab *v, const ingot_gguf *g) {
    static const char *const key = "tokenizer.ggml.token_type";
    bool found = false;
    INGOT_TRY(check_length(v, g, key, &found));
    memset(v->kinds, INGOT_TOKEN_NORMAL, (size_t)v->n);
    if (found) {
        int32_t *kinds = ingot_alloc_array((size_t)v->n, sizeof *kinds, INGOT_MEM_TOKENIZER);
        if (!kinds) return ingot_fail(INGOT_E_NOMEM, "no memory for %d token types", (int)v->n);
        const ingot_status s = ingot_gguf_array_i32(g, key, kinds, (uint64_t)v->n);
        for (int32_t i = 0; s == INGOT_OK && i < v->n; i++)
            v->kinds[i] = kinds[i] >= 0 && kinds[i] <= INGOT_TOKEN_BYTE ? (uint8_t)kinds[i] : INGOT_TOKEN_UNDEFINED;
        ingot_dealloc(kinds);
        if (s != INGOT_OK) return s;
    }
    for (int32_t i = 0; i < v->n; i++)
        for (size_t m = 0; m < sizeof markers / sizeof *markers; m++)
            if (same(v->texts[i], markers[m].text)) {
                v->kinds[i] = INGOT_TOKEN_CONTROL;
                v->ends[i] = markers[m].ends;
            }
    return INGOT_OK;
}

static ingot_status read_scores(ingot_vocab *v, const ingot_gguf *g) {
    static const char *const key = "tokenizer.ggml.scores";
    if (v->model != INGOT_VOCAB_SPM) return INGOT_OK;
    bool found = false;
    INGOT_TRY(check_length(v, g, key, &found));
    if (!found) return ingot_fail(INGOT_E_FORMAT, "%s is missing, which a vocabulary of model 'llama' needs", key);
    v->scores = ingot_alloc_array((size_t)v->n, sizeof *v->scores, INGOT_MEM_TOKENIZER);
    if (!v->scores) return ingot_fail(INGOT_E_NOMEM, "no memory for %d token scores", (int)v->n);
    INGOT_TRY(ingot_gguf_array_f32(g, key, v->scores, (uint64_t)v->n));
    for (int32_t i = 0; i < v->n; i++)
        if (isnan(v->scores[i])) return ingot_fail(INGOT_E_FORMAT, "%s[%d] is not a number", key, (int)i);
    return INGOT_OK;
}

int ingot_vocab_byte_token(ingot_str t) {
    static const char digits[] = "0123456789ABCDEF";
    if (t.n != 6 || memcmp(t.p, "<0x", 3) != 0 || t.p[5] != '>') return -1;
    const char *hi = memchr(digits, t.p[3], 16), *lo = memchr(digits, t.p[4], 16);
    return hi && lo ? (int)((hi - digits) * 16 + (lo - digits)) : -1;
}

/* Writes what token `id` stands for at `out` and returns its length, at most that of the token's text. */
static size_t decode_token(const ingot_vocab *v, int32_t id, char *out) {
    const ingot_str t = v->texts[id];
    const int byte = v->kinds[id] == INGOT_TOKEN_BYTE ? ingot_vocab_byte_token(t) : -1;
    if (byte >= 0) {
        *out = (char)byte;
        return 1;
    }
    const bool verbatim = ingot_vocab_is_control(v, id) || v->kinds[id] == INGOT_TOKEN_USER;
    if (!verbatim && v->model == INGOT_VOCAB_BPE) {
        const int64_t n = ingot_byte_alphabet_decode(t.p, t.n, out);
        if (n >= 0) return (size_t)n;
    }
    size_t n = 0;
    for (size_t i = 0; i < t.n;) {
        const bool space = !verbatim && v->model == INGOT_VOCAB_SPM && t.n - i >= INGOT_SP_SPACE_BYTES &&
                           memcmp(t.p + i, INGOT_SP_SPACE, INGOT_SP_SPACE_BYTES) == 0;
        out[n++] = space ? ' ' : t.p[i];
        i += space ? INGOT_SP_SPACE_BYTES : 1;
    }
    return n;
}

static ingot_status decode_tokens(ingot_vocab *v) {
    uint64_t total = 1;
    for (int32_t i = 0; i < v->n; i++)
        if (!ingot_add_u64(total, v->texts[i].n, &total)) return ingot_fail(INGOT_E_FORMAT, "%s: lengths overflow", key_tokens);
    v->bytes = ingot_alloc(total, INGOT_MEM_TOKENIZER);
    if (!v->bytes) return ingot_fail(INGOT_E_NOMEM, "no memory for %llu bytes of token texts", (unsigned long long)total);
    for (int32_t i = 0; i < v->n; i++) v->byte_at[i + 1] = v->byte_at[i] + decode_token(v, i, v->bytes + v->byte_at[i]);
    return INGOT_OK;
}

/* Reads the id of a special token; *id stays as it is when the key is absent. */
static ingot_status read_id(const ingot_vocab *v, const ingot_gguf *g, const char *key, int32_t *id) {
    uint32_t x;
    bool found = false;
    INGOT_TRY(ingot_gguf_get_u32(g, key, &x, &found));
    if (!found) return INGOT_OK;
    if (x == UINT32_MAX) *id = -1; /* how some converters write "none" */
    else if (x >= (uint32_t)v->n) return ingot_fail(INGOT_E_FORMAT, "%s is %u, but the vocabulary has %d tokens", key, x, (int)v->n);
    else *id = (int32_t)x;
    return INGOT_OK;
}

static ingot_status read_ids(ingot_vocab *v, const ingot_gguf *g) {
    v->bos = v->eos = v->unk = -1;
    if (v->model == INGOT_VOCAB_SPM && v->n > 2) { /* SentencePiece's own defaults */
        v->unk = 0;
        v->bos = 1;
        v->eos = 2;
    }
    int32_t eot = -1, eom = -1;
    INGOT_TRY(read_id(v, g, "tokenizer.ggml.bos_token_id", &v->bos));
    INGOT_TRY(read_id(v, g, "tokenizer.ggml.eos_token_id", &v->eos));
    INGOT_TRY(read_id(v, g, "tokenizer.ggml.unknown_token_id", &v->unk));
    INGOT_TRY(read_id(v, g, "tokenizer.ggml.eot_token_id", &eot));
    INGOT_TRY(read_id(v, g, "tokenizer.ggml.eom_token_id", &eom));
    if (v->eos >= 0) v->ends[v->eos] = true;
    if (eot >= 0) v->ends[eot] = true;
    if (eom >= 0) v->ends[eom] = true;
    return INGOT_OK;
}

static ingot_status read_all(ingot_vocab *v, const ingot_gguf *g) {
    INGOT_TRY(read_model(v, g));
    INGOT_TRY(read_texts(v, g));
    INGOT_TRY(read_kinds(v, g));
    INGOT_TRY(read_scores(v, g));
    INGOT_TRY(decode_tokens(v));
    return read_ids(v, g);
}

ingot_status ingot_vocab_open(ingot_vocab *v, const ingot_gguf *g) {
    *v = (ingot_vocab){0};
    const ingot_status s = read_all(v, g);
    if (s != INGOT_OK) ingot_vocab_close(v);
    return s;
}

void ingot_vocab_close(ingot_vocab *v) {
    ingot_dealloc(v->texts);
    ingot_dealloc(v->kinds);
    ingot_dealloc(v->scores);
    ingot_dealloc(v->bytes);
    ingot_dealloc(v->byte_at);
    ingot_dealloc(v->ends);
    *v = (ingot_vocab){0};
}
