#include "encode.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "utf8.h"

/* Positions inside a text are 32-bit numbers, and spaces become three bytes. */
static const size_t max_text_bytes = (size_t)1 << 30;

void ingot_encoding_free(ingot_encoding *e) {
    ingot_merger_free(&e->merger);
    ingot_dealloc(e->scratch.p);
    ingot_dealloc(e->ids.p);
    *e = (ingot_encoding){0};
}

ingot_status ingot_encoding_finish(ingot_encoding *e, ingot_status s, int32_t **ids, size_t *n_ids) {
    *ids = NULL;
    *n_ids = 0;
    if (s == INGOT_OK && !e->ids.p) { /* no tokens: still a pointer that can be freed */
        e->ids.p = ingot_alloc(0, INGOT_MEM_TOKENIZER);
        if (!e->ids.p) s = ingot_fail(INGOT_E_NOMEM, "no memory for an empty list of tokens");
    }
    if (s == INGOT_OK) {
        *ids = e->ids.p;
        *n_ids = e->ids.n;
        e->ids.p = NULL;
    }
    ingot_encoding_free(e);
    return s;
}

static ingot_status encode_fragment(const ingot_tokenizer *t, ingot_encoding *e, const char *text, size_t n) {
    if (!n) return INGOT_OK;
    if (t->vocab.model == INGOT_VOCAB_BPE) return ingot_bpe_encode(&t->bpe, &e->merger, text, n, &e->ids);
    return ingot_spm_encode(&t->spm, &e->merger, &e->scratch, text, n, &e->ids);
}

ingot_status ingot_encode_text(const ingot_tokenizer *t, ingot_encoding *e, const char *text, size_t n, bool special) {
    if (n > max_text_bytes) return ingot_fail(INGOT_E_INVALID, "the text has %zu bytes, more than %zu", n, max_text_bytes);
    const size_t bad = ingot_utf8_check(text, n);
    if (bad < n)
        return ingot_fail(INGOT_E_INVALID, "the text is not valid UTF-8 at byte offset %zu (byte 0x%02x)", bad, (unsigned char)text[bad]);
    const ingot_specials *specials = special ? &t->all : &t->user;
    size_t start = 0;
    for (size_t at = 0, length; at < n;) {
        const int32_t id = ingot_specials_match(specials, text + at, n - at, &length);
        if (id < 0) {
            at++;
            continue;
        }
        INGOT_TRY(encode_fragment(t, e, text + start, at - start));
        INGOT_TRY(ingot_ids_add(&e->ids, id));
        start = at += length;
    }
    return encode_fragment(t, e, text + start, n - start);
}
