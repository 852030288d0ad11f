/* Source: Kudo and Richardson, "SentencePiece", 2018 (BPE model with byte fallback). */
#include "spm.h"
#include "../base/error.h"
#include "utf8.h"
#include <string.h>

static bool is_marker(const char *p, size_t n) {
    return n >= INGOT_SP_SPACE_BYTES && memcmp(p, INGOT_SP_SPACE, INGOT_SP_SPACE_BYTES) == 0;
}
static bool has_marker(ingot_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (is_marker(s.p + i, s.n - i)) return true;
    return false;
}

/* Merging makes ordinary and user-defined tokens only: a text never becomes a control token, nor a byte token by its name.
 * A user-defined token stands for its text as written, so one with U+2581 in it is not what spaces make. */
static bool can_be_made(const ingot_vocab *v, int32_t id) {
    if (!v->texts[id].n || ingot_vocab_is_control(v, id) || v->kinds[id] == INGOT_TOKEN_BYTE) return false;
    return v->kinds[id] != INGOT_TOKEN_USER || !has_marker(v->texts[id]);
}

static void add_token(ingot_spm *s, int32_t id) {
    const ingot_str t = s->vocab->texts[id];
    ingot_strtab_put(&s->tokens, t, id);
    if (t.n > s->max_bytes) s->max_bytes = t.n < UINT32_MAX ? (uint32_t)t.n : UINT32_MAX;
    for (size_t i = 1; i < t.n; i++)
        if (is_marker(t.p + i, t.n - i)) s->before_space[(unsigned char)t.p[i - 1]] = true;
}

ingot_status ingot_spm_open(ingot_spm *s, const ingot_vocab *v, const ingot_gguf *g) {
    *s = (ingot_spm){.vocab = v, .adds_space = true};
    bool found = false;
    INGOT_TRY(ingot_gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", &s->adds_space, &found));
    INGOT_TRY(ingot_strtab_init(&s->tokens, (size_t)v->n));
    for (int b = 0; b < 256; b++) s->byte_token[b] = -1;
    for (int32_t i = 0; i < v->n; i++) {
        const int byte = v->kinds[i] == INGOT_TOKEN_BYTE ? ingot_vocab_byte_token(v->texts[i]) : -1;
        if (byte >= 0) s->byte_token[byte] = i;
        if (can_be_made(v, i)) add_token(s, i);
    }
    return INGOT_OK;
}

void ingot_spm_close(ingot_spm *s) {
    ingot_strtab_free(&s->tokens);
    *s = (ingot_spm){0};
}

struct piece_source { const ingot_spm *spm; const char *text; };

/* Float order as unsigned order, highest score first. */
static uint32_t order_of(float score) {
    uint32_t u;
    score += 0.0f; /* -0 equals 0 */
    memcpy(&u, &score, sizeof u);
    return u & 0x80000000u ? u : 0x7FFFFFFFu - u;
}

static bool pair_of(const void *vocabulary, const ingot_symbol *l, const ingot_symbol *r, uint32_t *order, int32_t *id) {
    const struct piece_source *src = vocabulary;
    const ingot_spm *s = src->spm;
    if (l->n > s->max_bytes || r->n > s->max_bytes - l->n) return false;
    *id = ingot_strtab_find(&s->tokens, src->text + l->start, l->n + r->n);
    if (*id < 0) return false;
    *order = order_of(s->vocab->scores[*id]);
    return true;
}

/* A character that is no token, as bytes; as the unknown token in vocabularies without byte tokens. */
static ingot_status emit_bytes(const ingot_spm *s, const char *p, size_t n, ingot_ids *out) {
    for (size_t i = 0; i < n; i++) {
        const int32_t id = s->byte_token[(unsigned char)p[i]];
        if (id < 0) return s->vocab->unk < 0 ? INGOT_OK : ingot_ids_add(out, s->vocab->unk);
        INGOT_TRY(ingot_ids_add(out, id));
    }
    return INGOT_OK;
}

/* Merges the symbols collected so far and starts anew. */
static ingot_status flush(const ingot_spm *s, ingot_merger *m, ingot_text *scratch, ingot_ids *out) {
    const struct piece_source src = {s, scratch->p};
    if (!m->n) return INGOT_OK;
    INGOT_TRY(ingot_merger_run(m, pair_of, &src));
    for (int32_t i = 0; i >= 0; i = m->symbols[i].next) {
        const ingot_symbol *y = &m->symbols[i];
        const int32_t id = y->id >= 0 ? y->id : ingot_strtab_find(&s->tokens, scratch->p + y->start, y->n);
        if (id >= 0) INGOT_TRY(ingot_ids_add(out, id));
        else INGOT_TRY(emit_bytes(s, scratch->p + y->start, y->n, out));
    }
    ingot_merger_reset(m);
    scratch->n = 0;
    return INGOT_OK;
}

static ingot_status collect(ingot_merger *m, ingot_text *scratch, const char *p, uint32_t n) {
    INGOT_TRY(ingot_merger_add(m, (uint32_t)scratch->n, n, -1));
    return ingot_text_add(scratch, p, n);
}

static ingot_status collect_space(const ingot_spm *s, ingot_merger *m, ingot_text *scratch, ingot_ids *out) {
    /* No token reaches over this place, so what lies before it can be merged by itself: short heaps stay in the cache. */
    if (scratch->n && !s->before_space[(unsigned char)scratch->p[scratch->n - 1]]) INGOT_TRY(flush(s, m, scratch, out));
    return collect(m, scratch, INGOT_SP_SPACE, INGOT_SP_SPACE_BYTES);
}

ingot_status ingot_spm_encode(const ingot_spm *s, ingot_merger *m, ingot_text *scratch, const char *text, size_t n, ingot_ids *out) {
    ingot_merger_reset(m);
    scratch->n = 0;
    if (s->adds_space) INGOT_TRY(collect_space(s, m, scratch, out));
    for (size_t i = 0; i < n;) {
        const uint32_t k = ingot_utf8_length((unsigned char)text[i]);
        if (text[i] == ' ') {
            INGOT_TRY(collect_space(s, m, scratch, out));
        } else if (is_marker(text + i, n - i)) {
            INGOT_TRY(flush(s, m, scratch, out));
            INGOT_TRY(emit_bytes(s, text + i, k, out));
        } else {
            INGOT_TRY(collect(m, scratch, text + i, k));
        }
        i += k;
    }
    return flush(s, m, scratch, out);
}
