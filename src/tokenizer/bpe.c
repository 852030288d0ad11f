#include "bpe.h"
#include "../base/alloc.h"
#include "../base/checked.h"
#include "../base/error.h"
#include "byte_alphabet.h"
#include <string.h>

static const char *const key_merges = "tokenizer.ggml.merges";

static uint64_t pair_key(int32_t l, int32_t r) { return (uint64_t)(uint32_t)l << 32 | ((uint32_t)r + 1); } /* never 0 */

static struct ingot_bpe_rule *locate(const ingot_bpe *b, uint64_t key) {
    const uint64_t h = key * 0x9E3779B97F4A7C15u;
    for (size_t i = (size_t)(h >> 32) & b->rule_mask;; i = (i + 1) & b->rule_mask)
        if (b->rules[i].pair == key || !b->rules[i].pair) return &b->rules[i];
}

/* Ordinary tokens can be made by merging; control tokens cannot, so that a text never becomes one. User-defined ones were
 * taken out of the text before. */
static void add_tokens(ingot_bpe *b) {
    const ingot_vocab *v = b->vocab;
    for (int32_t i = 0; i < v->n; i++) {
        const ingot_str bytes = ingot_vocab_bytes(v, i);
        if (bytes.n && !ingot_vocab_is_control(v, i) && v->kinds[i] != INGOT_TOKEN_USER) ingot_strtab_put(&b->symbols, bytes, i);
    }
    b->n_symbols = v->n;
}

/* The symbol with these bytes, made when there is none. */
static int32_t symbol(ingot_bpe *b, ingot_str bytes) {
    const int32_t id = ingot_strtab_put(&b->symbols, bytes, b->n_symbols);
    if (id == b->n_symbols) b->n_symbols++;
    return id;
}

static void add_bytes(ingot_bpe *b) {
    for (int i = 0; i < 256; i++) {
        b->byte_texts[i] = (char)i;
        b->byte_symbol[i] = symbol(b, (ingot_str){&b->byte_texts[i], 1});
    }
}

/* Enters merge `rank`, written "left right"; its bytes go to `out`, of which it uses the returned number. */
static ingot_status add_merge(ingot_bpe *b, ingot_str text, uint32_t rank, char *out, size_t *used) {
    *used = 0;
    const char *space = text.n > 1 ? memchr(text.p + 1, ' ', text.n - 1) : NULL;
    const int64_t l = space ? ingot_byte_alphabet_decode(text.p, (size_t)(space - text.p), out) : -1;
    const int64_t r = l > 0 ? ingot_byte_alphabet_decode(space + 1, text.n - (size_t)(space - text.p) - 1, out + l) : -1;
    if (r <= 0)
        return ingot_fail(INGOT_E_FORMAT, "%s[%u] is not two byte strings: '%.*s'", key_merges, rank, (int)(text.n < 64 ? text.n : 64), text.p);
    const int32_t before = b->n_symbols;
    const int32_t left = symbol(b, (ingot_str){out, (size_t)l}), right = symbol(b, (ingot_str){out + l, (size_t)r});
    const int32_t merged = symbol(b, (ingot_str){out, (size_t)(l + r)});
    struct ingot_bpe_rule *rule = locate(b, pair_key(left, right));
    if (!rule->pair) *rule = (struct ingot_bpe_rule){pair_key(left, right), rank, merged};
    if (b->n_symbols > before) *used = (size_t)(l + r); /* keep the bytes only when a new symbol points at them */
    return INGOT_OK;
}

static ingot_status add_merges(ingot_bpe *b, const ingot_str *texts, size_t n) {
    uint64_t total = 1;
    for (size_t i = 0; i < n; i++)
        if (!ingot_add_u64(total, texts[i].n, &total)) return ingot_fail(INGOT_E_FORMAT, "%s: lengths overflow", key_merges);
    size_t slots = 16;
    while (slots < 2 * n) slots *= 2;
    b->rule_mask = slots - 1;
    b->rules = ingot_alloc_array(slots, sizeof *b->rules, INGOT_MEM_TOKENIZER);
    b->merge_bytes = ingot_alloc(total, INGOT_MEM_TOKENIZER);
    if (!b->rules || !b->merge_bytes) return ingot_fail(INGOT_E_NOMEM, "no memory for %zu merges", n);
    for (size_t i = 0, at = 0, used; i < n; i++, at += used)
        INGOT_TRY(add_merge(b, texts[i], (uint32_t)i, b->merge_bytes + at, &used));
    return INGOT_OK;
}

static ingot_status read_merges(ingot_bpe *b, const ingot_gguf *g) {
    ingot_gguf_type type;
    uint64_t n = 0;
    bool found = false;
    INGOT_TRY(ingot_gguf_get_array(g, key_merges, &type, &n, &found));
    if (!found) return ingot_fail(INGOT_E_FORMAT, "%s is missing, which a vocabulary of model 'gpt2' needs", key_merges);
    if (n > INT32_MAX / 8) return ingot_fail(INGOT_E_FORMAT, "%s has %llu elements", key_merges, (unsigned long long)n);
    ingot_str *texts = ingot_alloc_array(n, sizeof *texts, INGOT_MEM_TOKENIZER);
    if (!texts) return ingot_fail(INGOT_E_NOMEM, "no memory for %llu merges", (unsigned long long)n);
    ingot_status s = ingot_gguf_array_str(g, key_merges, texts, n);
    /* Each merge names at most three symbols that are no tokens. */
    if (s == INGOT_OK) s = ingot_strtab_init(&b->symbols, (size_t)b->vocab->n + 256 + 3 * (size_t)n);
    if (s == INGOT_OK) {
        add_tokens(b);
        add_bytes(b);
        s = add_merges(b, texts, (size_t)n);
    }
    ingot_dealloc(texts);
    return s;
}

static ingot_status read_all(ingot_bpe *b, const ingot_gguf *g) {
    ingot_str pre = {0};
    bool found = false;
    INGOT_TRY(ingot_gguf_get_str(g, "tokenizer.ggml.pre", &pre, &found));
    if (!found)
        return ingot_fail(INGOT_E_UNSUPPORTED, "the file does not say how its tokenizer splits words (no key tokenizer.ggml.pre): convert it anew");
    INGOT_TRY(ingot_pretokenizer_open(&b->words, pre));
    return read_merges(b, g);
}

ingot_status ingot_bpe_open(ingot_bpe *b, const ingot_vocab *v, const ingot_gguf *g) {
    *b = (ingot_bpe){.vocab = v};
    const ingot_status s = read_all(b, g);
    if (s != INGOT_OK) ingot_bpe_close(b);
    return s;
}

void ingot_bpe_close(ingot_bpe *b) {
    ingot_pretokenizer_close(b->words);
    ingot_strtab_free(&b->symbols);
    ingot_dealloc(b->merge_bytes);
    ingot_dealloc(b->rules);
    *b = (ingot_bpe){0};
}

static bool pair_of(const void *vocabulary, const ingot_symbol *l, const ingot_symbol *r, uint32_t *order, int32_t *id) {
    const struct ingot_bpe_rule *rule = locate(vocabulary, pair_key(l->id, r->id));
    if (!rule->pair) return false;
    *order = rule->rank;
    *id = rule->merged;
    return true;
}

/* A symbol that is no token is written byte by byte. */
static ingot_status emit(const ingot_bpe *b, int32_t id, const char *p, size_t n, ingot_ids *out) {
    if (id < b->vocab->n) return ingot_ids_add(out, id);
    for (size_t i = 0; i < n; i++) {
        const int32_t byte = b->byte_symbol[(unsigned char)p[i]];
        if (byte < b->vocab->n) INGOT_TRY(ingot_ids_add(out, byte));
    }
    return INGOT_OK;
}

static ingot_status encode_word(const ingot_bpe *b, ingot_merger *m, const char *word, size_t n, ingot_ids *out) {
    if (ingot_pretokenizer_ignores_merges(b->words)) {
        const int32_t id = ingot_strtab_find(&b->symbols, word, n);
        if (id >= 0 && id < b->vocab->n) return ingot_ids_add(out, id);
    }
    ingot_merger_reset(m);
    for (size_t i = 0; i < n; i++) INGOT_TRY(ingot_merger_add(m, (uint32_t)i, 1, b->byte_symbol[(unsigned char)word[i]]));
    INGOT_TRY(ingot_merger_run(m, pair_of, b));
    for (int32_t i = 0; i >= 0; i = m->symbols[i].next)
        INGOT_TRY(emit(b, m->symbols[i].id, word + m->symbols[i].start, m->symbols[i].n, out));
    return INGOT_OK;
}

ingot_status ingot_bpe_encode(const ingot_bpe *b, ingot_merger *m, const char *text, size_t n, ingot_ids *out) {
    ingot_splitter *split;
    INGOT_TRY(ingot_splitter_open(&split, b->words));
    ingot_status s = INGOT_OK;
    for (size_t at = 0, end; s == INGOT_OK && at < n; at = end) {
        s = ingot_splitter_next(split, text, n, at, &end);
        if (s == INGOT_OK) s = encode_word(b, m, text + at, end - at, out);
    }
    ingot_splitter_close(split);
    return s;
}
