#include "tokenizer.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "encode.h"
#include <ingot/model.h>

static ingot_status read_bos(ingot_tokenizer *t, const ingot_gguf *g) {
    t->adds_bos = t->vocab.model == INGOT_VOCAB_SPM || ingot_pretokenizer_adds_bos(t->bpe.words);
    bool found = false;
    INGOT_TRY(ingot_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &t->adds_bos, &found));
    if (t->adds_bos && t->vocab.bos < 0)
        return ingot_fail(INGOT_E_FORMAT, "the tokenizer asks for a BOS token (tokenizer.ggml.add_bos_token), but the file names none (tokenizer.ggml.bos_token_id)");
    return INGOT_OK;
}

static ingot_status open_parts(ingot_tokenizer *t, const ingot_gguf *g) {
    bool found = false;
    INGOT_TRY(ingot_vocab_open(&t->vocab, g));
    if (t->vocab.model == INGOT_VOCAB_BPE) INGOT_TRY(ingot_bpe_open(&t->bpe, &t->vocab, g));
    else INGOT_TRY(ingot_spm_open(&t->spm, &t->vocab, g));
    INGOT_TRY(ingot_specials_open(&t->user, &t->vocab, false));
    INGOT_TRY(ingot_specials_open(&t->all, &t->vocab, true));
    INGOT_TRY(read_bos(t, g));
    return ingot_gguf_get_str(g, "tokenizer.chat_template", &t->chat_template, &found);
}

ingot_status ingot_tokenizer_open(ingot_tokenizer **out, const ingot_gguf *g) {
    *out = NULL;
    ingot_tokenizer *t = ingot_alloc(sizeof *t, INGOT_MEM_TOKENIZER);
    if (!t) return ingot_fail(INGOT_E_NOMEM, "no memory for a tokenizer");
    const ingot_status s = open_parts(t, g);
    if (s != INGOT_OK) {
        ingot_tokenizer_close(t);
        return s;
    }
    *out = t;
    return INGOT_OK;
}

void ingot_tokenizer_close(ingot_tokenizer *t) {
    if (!t) return;
    ingot_specials_close(&t->all);
    ingot_specials_close(&t->user);
    ingot_spm_close(&t->spm);
    ingot_bpe_close(&t->bpe);
    ingot_vocab_close(&t->vocab);
    ingot_dealloc(t);
}

static bool in_vocabulary(const ingot_tokenizer *t, int32_t id) { return id >= 0 && id < t->vocab.n; }

int ingot_tokenizer_size(const ingot_tokenizer *t) { return t->vocab.n; }
int32_t ingot_tokenizer_bos(const ingot_tokenizer *t) { return t->vocab.bos; }
bool ingot_tokenizer_adds_bos(const ingot_tokenizer *t) { return t->adds_bos; }
bool ingot_tokenizer_is_end(const ingot_tokenizer *t, int32_t id) { return in_vocabulary(t, id) && t->vocab.ends[id]; }

/* BOS goes in front unless the text itself began with it, which only SPECIAL makes possible. */
static ingot_status encode(const ingot_tokenizer *t, ingot_encoding *e, const char *text, size_t n, int flags) {
    const bool bos = (flags & INGOT_TOKENIZE_BOS) && t->adds_bos;
    if (bos) INGOT_TRY(ingot_ids_add(&e->ids, t->vocab.bos));
    INGOT_TRY(ingot_encode_text(t, e, text, n, flags & INGOT_TOKENIZE_SPECIAL));
    if (bos && e->ids.n > 1 && e->ids.p[1] == t->vocab.bos) {
        for (size_t i = 1; i < e->ids.n; i++) e->ids.p[i - 1] = e->ids.p[i];
        e->ids.n--;
    }
    return INGOT_OK;
}

ingot_status ingot_tokenizer_encode(const ingot_tokenizer *t, const char *text, size_t n, int flags, int32_t **ids, size_t *n_ids) {
    ingot_encoding e = {0};
    return ingot_encoding_finish(&e, encode(t, &e, text, n, flags), ids, n_ids);
}

const char *ingot_tokenizer_bytes(const ingot_tokenizer *t, int32_t id, bool special, size_t *n) {
    *n = 0;
    if (!in_vocabulary(t, id) || (!special && ingot_vocab_is_control(&t->vocab, id))) return "";
    const ingot_str s = ingot_vocab_bytes(&t->vocab, id);
    *n = s.n;
    return s.p;
}

ingot_status ingot_tokenizer_decode(const ingot_tokenizer *t, const int32_t *ids, size_t n_ids, bool special, char **text, size_t *n) {
    ingot_text out = {0};
    ingot_status s = INGOT_OK;
    *text = NULL;
    *n = 0;
    /* Encoding puts a space in front of a text and after each token that was matched by its text: they are taken out again. */
    bool drop_space = t->spm.adds_space;
    for (size_t i = 0; s == INGOT_OK && i < n_ids; i++) {
        if (!in_vocabulary(t, ids[i])) {
            s = ingot_fail(INGOT_E_INVALID, "token %d is not in the vocabulary of %d", (int)ids[i], (int)t->vocab.n);
            break;
        }
        size_t k;
        const char *p = ingot_tokenizer_bytes(t, ids[i], special, &k);
        const bool matched = ingot_vocab_is_control(&t->vocab, ids[i]) || t->vocab.kinds[ids[i]] == INGOT_TOKEN_USER;
        const bool drop = drop_space && !matched && k && *p == ' ';
        s = ingot_text_add(&out, p + drop, k - drop);
        drop_space = t->spm.adds_space && matched;
    }
    if (s == INGOT_OK) s = ingot_text_add(&out, "", 1); /* NUL-terminated for convenience */
    if (s != INGOT_OK) {
        ingot_dealloc(out.p);
        return s;
    }
    *text = out.p;
    *n = out.n - 1;
    return INGOT_OK;
}
