/* Conversations as tokens. The model's template (a Jinja program) is recognised by its markers, not run: control tokens are
 * put in by their ids and the text of a message is encoded as plain text, so that no message can forge a turn. */
#include "../base/alloc.h"
#include "../base/error.h"
#include "encode.h"
#include "utf8.h"
#include <ingot/model.h>
#include <string.h>

typedef struct builder {
    const ingot_tokenizer *t;
    const char *format;
    ingot_encoding e;
    ingot_text text; /* plain text since the last control token: encoded in one piece, as the template's output would be */
} builder;

typedef struct chat_format {
    const char *name;
    const char *markers[2]; /* all in the template */
    const char *end;        /* token after an answer; NULL: EOS */
    ingot_status (*build)(builder *b, const ingot_message *m, int n, bool first, bool add_header);
} chat_format;

static ingot_str str(const char *z) { return (ingot_str){z, strlen(z)}; }

static ingot_status add(builder *b, ingot_str s) { return ingot_text_add(&b->text, s.p, s.n); }
static ingot_status add_z(builder *b, const char *z) { return add(b, str(z)); }

static ingot_status flush(builder *b) {
    const ingot_status s = ingot_encode_text(b->t, &b->e, b->text.p, b->text.n, false);
    b->text.n = 0;
    return s;
}

static ingot_status add_id(builder *b, int32_t id, const char *name) {
    if (id < 0) return ingot_fail(INGOT_E_UNSUPPORTED, "the chat format '%s' needs the token %s, which the vocabulary lacks", b->format, name);
    INGOT_TRY(flush(b));
    return ingot_ids_add(&b->e.ids, id);
}

static int32_t control_id(const ingot_tokenizer *t, const char *text) {
    size_t length = 0;
    const int32_t id = ingot_specials_match(&t->all, text, strlen(text), &length);
    return id >= 0 && length == strlen(text) && t->vocab.kinds[id] == INGOT_TOKEN_CONTROL ? id : -1;
}

static ingot_status add_control(builder *b, const char *text) { return add_id(b, control_id(b->t, text), text); }
static ingot_status add_bos(builder *b) { return add_id(b, b->t->vocab.bos, "BOS"); }
static ingot_status add_eos(builder *b) { return add_id(b, b->t->vocab.eos, "EOS"); }

static bool is_role(const ingot_message *m, const char *role) { return strcmp(m->role, role) == 0; }

/* First place of `needle` in `s` from `from`; s.n when there is none. */
static size_t find(ingot_str s, size_t from, const char *needle) {
    const size_t k = strlen(needle);
    for (size_t i = from; k <= s.n && i <= s.n - k; i++)
        if (memcmp(s.p + i, needle, k) == 0) return i;
    return s.n;
}
static bool has(ingot_str s, const char *needle) { return find(s, 0, needle) < s.n; }

/* --- ChatML (Qwen, SmolLM2 and many others) --- */

static const char im_start[] = "<|im_start|>", im_end[] = "<|im_end|>";

static ingot_status chatml_turn(builder *b, const char *role, ingot_str content) {
    INGOT_TRY(add_control(b, im_start));
    INGOT_TRY(add_z(b, role));
    INGOT_TRY(add_z(b, "\n"));
    INGOT_TRY(add(b, content));
    INGOT_TRY(add_control(b, im_end));
    return add_z(b, "\n");
}

/* A line end in a template: the character itself or its escape. Bytes of it at s.p + i, or 0. */
static size_t line_end(ingot_str s, size_t i) {
    if (i < s.n && s.p[i] == '\n') return 1;
    return i + 1 < s.n && s.p[i] == '\\' && s.p[i + 1] == 'n' ? 2 : 0;
}

/* Appends the system prompt that the template puts in when the conversation has none: the literal text between the system
 * header and the end marker. *found false when there is none: then the template writes no such turn. */
static ingot_status chatml_default_system(ingot_str tmpl, ingot_text *out, bool *found) {
    static const char header[] = "<|im_start|>system";
    *found = false;
    for (size_t at = find(tmpl, 0, header); at < tmpl.n && !*found; at = find(tmpl, at, header)) {
        at += sizeof header - 1;
        const size_t k = line_end(tmpl, at);
        if (!k) continue;
        const size_t start = at + k, end = find(tmpl, start, im_end);
        if (end == tmpl.n) break;
        bool literal = true;
        for (size_t i = start; i < end && literal; i++) literal = !strchr("'\"{}", tmpl.p[i]) && tmpl.p[i];
        if (!literal) continue; /* code that inserts the user's system message */
        for (size_t i = start; i < end;) {
            const size_t nl = line_end(tmpl, i);
            INGOT_TRY(ingot_text_add(out, nl ? "\n" : tmpl.p + i, 1));
            i += nl ? nl : 1;
        }
        *found = true;
    }
    return INGOT_OK;
}

static ingot_status chatml_opening(builder *b) {
    if (b->t->adds_bos) INGOT_TRY(add_bos(b));
    ingot_text prompt = {0};
    bool found;
    ingot_status s = chatml_default_system(b->t->chat_template, &prompt, &found);
    if (s == INGOT_OK && found) s = chatml_turn(b, "system", (ingot_str){prompt.p, prompt.n});
    ingot_dealloc(prompt.p);
    return s;
}

static ingot_status chatml(builder *b, const ingot_message *m, int n, bool first, bool add_header) {
    if (!first) INGOT_TRY(add_z(b, "\n"));
    else if (!n || !is_role(&m[0], "system")) INGOT_TRY(chatml_opening(b));
    else if (b->t->adds_bos) INGOT_TRY(add_bos(b));
    for (int i = 0; i < n; i++) INGOT_TRY(chatml_turn(b, m[i].role, str(m[i].content)));
    if (!add_header) return INGOT_OK;
    INGOT_TRY(add_control(b, im_start));
    return add_z(b, "assistant\n");
}

/* --- Llama 3 --- */

static ingot_status llama3_header(builder *b, const char *role) {
    INGOT_TRY(add_control(b, "<|start_header_id|>"));
    INGOT_TRY(add_z(b, role));
    INGOT_TRY(add_control(b, "<|end_header_id|>"));
    return add_z(b, "\n\n");
}

static ingot_status llama3_turn(builder *b, const char *role, const char *before, const char *content) {
    INGOT_TRY(llama3_header(b, role));
    INGOT_TRY(add_z(b, before));
    INGOT_TRY(add(b, ingot_utf8_trim(str(content))));
    return add_control(b, "<|eot_id|>");
}

static ingot_status llama3(builder *b, const ingot_message *m, int n, bool first, bool add_header) {
    int i = 0;
    if (first) INGOT_TRY(add_bos(b));
    if (first && has(b->t->chat_template, "Cutting Knowledge Date")) { /* 3.1 and later always write a system turn */
        static const char dates[] = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"; /* the template's default */
        const bool given = n && is_role(&m[0], "system");
        INGOT_TRY(llama3_turn(b, "system", dates, given ? m[0].content : ""));
        i = given;
    }
    for (; i < n; i++) INGOT_TRY(llama3_turn(b, m[i].role, "", m[i].content));
    return add_header ? llama3_header(b, "assistant") : INGOT_OK;
}

/* --- formats without a system turn: its text goes in front of the next user message --- */

/* Calls `turn` for each message; `system` is the text that waits for a user message, or NULL. */
static ingot_status each_turn(builder *b, const ingot_message *m, int n, ingot_status (*turn)(builder *, const ingot_message *, const char *system)) {
    const char *system = NULL;
    for (int i = 0; i < n; i++) {
        if (is_role(&m[i], "system")) {
            if (i + 1 == n || !is_role(&m[i + 1], "user"))
                return ingot_fail(INGOT_E_INVALID, "the chat format '%s' needs a user message after the system message", b->format);
            system = m[i].content;
            continue;
        }
        INGOT_TRY(turn(b, &m[i], system));
        system = NULL;
    }
    return INGOT_OK;
}

/* --- Gemma --- */

static ingot_status gemma_turn(builder *b, const ingot_message *m, const char *system) {
    INGOT_TRY(add_control(b, "<start_of_turn>"));
    INGOT_TRY(add_z(b, is_role(m, "assistant") ? "model\n" : "user\n"));
    if (system) {
        INGOT_TRY(add_z(b, system));
        INGOT_TRY(add_z(b, "\n\n"));
    }
    INGOT_TRY(add(b, ingot_utf8_trim(str(m->content))));
    INGOT_TRY(add_control(b, "<end_of_turn>"));
    return add_z(b, "\n");
}

static ingot_status gemma(builder *b, const ingot_message *m, int n, bool first, bool add_header) {
    if (first) INGOT_TRY(add_bos(b));
    else INGOT_TRY(add_z(b, "\n"));
    INGOT_TRY(each_turn(b, m, n, gemma_turn));
    if (!add_header) return INGOT_OK;
    INGOT_TRY(add_control(b, "<start_of_turn>"));
    return add_z(b, "model\n");
}

/* --- Llama 2: BOS begins each exchange and EOS ends it; the rest is plain text --- */

static ingot_status llama2_turn(builder *b, const ingot_message *m, const char *system) {
    if (is_role(m, "assistant")) {
        INGOT_TRY(add_z(b, " "));
        INGOT_TRY(add(b, ingot_utf8_trim(str(m->content))));
        INGOT_TRY(add_z(b, " "));
        return add_eos(b);
    }
    INGOT_TRY(add_bos(b));
    INGOT_TRY(add_z(b, "[INST] "));
    const size_t start = b->text.n;
    if (system) {
        INGOT_TRY(add_z(b, "<<SYS>>\n"));
        INGOT_TRY(add_z(b, system));
        INGOT_TRY(add_z(b, "\n<</SYS>>\n\n"));
    }
    INGOT_TRY(add(b, system ? str(m->content) : ingot_utf8_trim(str(m->content))));
    b->text.n = start + ingot_utf8_trim((ingot_str){b->text.p + start, b->text.n - start}).n;
    return add_z(b, " [/INST]");
}

static ingot_status llama2(builder *b, const ingot_message *m, int n, bool first, bool add_header) {
    (void)first;
    (void)add_header; /* the answer follows [/INST] at once */
    return each_turn(b, m, n, llama2_turn);
}

/* --- Mistral: the brackets are control tokens in newer vocabularies, plain text in the first --- */

static ingot_status mistral_turn(builder *b, const ingot_message *m, const char *system) {
    const bool control = control_id(b->t, "[INST]") >= 0;
    if (is_role(m, "assistant")) {
        if (!control) INGOT_TRY(add_z(b, " "));
        INGOT_TRY(add_z(b, m->content));
        return add_eos(b);
    }
    INGOT_TRY(control ? add_control(b, "[INST]") : add_z(b, "[INST] "));
    if (system) {
        INGOT_TRY(add_z(b, system));
        INGOT_TRY(add_z(b, "\n\n"));
    }
    INGOT_TRY(add_z(b, m->content));
    return control ? add_control(b, "[/INST]") : add_z(b, " [/INST]");
}

static ingot_status mistral(builder *b, const ingot_message *m, int n, bool first, bool add_header) {
    (void)add_header;
    if (first) INGOT_TRY(add_bos(b));
    return each_turn(b, m, n, mistral_turn);
}

/* The first whose markers are all in the template. */
static const chat_format formats[] = {
    {"chatml", {"<|im_start|>", "<|im_end|>"}, im_end, chatml},
    {"llama3", {"<|start_header_id|>", "<|eot_id|>"}, "<|eot_id|>", llama3},
    {"gemma", {"<start_of_turn>", "<end_of_turn>"}, "<end_of_turn>", gemma},
    {"llama2", {"[INST]", "<<SYS>>"}, NULL, llama2},
    {"mistral", {"[INST]", "[/INST]"}, NULL, mistral},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static const chat_format *recognise(const ingot_tokenizer *t) {
    for (int i = 0; i < N_FORMATS; i++)
        if (has(t->chat_template, formats[i].markers[0]) && has(t->chat_template, formats[i].markers[1])) return &formats[i];
    return NULL;
}

const char *ingot_tokenizer_chat_format(const ingot_tokenizer *t) {
    if (!t->chat_template.n) return "";
    const chat_format *f = recognise(t);
    return f ? f->name : NULL;
}

int32_t ingot_tokenizer_chat_end(const ingot_tokenizer *t) {
    const chat_format *f = recognise(t);
    return !f || !f->end ? t->vocab.eos : control_id(t, f->end);
}

static ingot_status check(const ingot_tokenizer *t, const chat_format *f, const ingot_message *m, int n) {
    if (!t->chat_template.n)
        return ingot_fail(INGOT_E_UNSUPPORTED, "the model has no chat format (no key tokenizer.chat_template): it continues text, so give it a prompt instead");
    if (!f)
        return ingot_fail(INGOT_E_UNSUPPORTED, "the model's chat template is none of the known formats (chatml, llama3, gemma, llama2, mistral)");
    for (int i = 0; i < n; i++) {
        if (!m[i].role || !m[i].content) return ingot_fail(INGOT_E_INVALID, "message %d has no role or no content", i);
        if (!is_role(&m[i], "system") && !is_role(&m[i], "user") && !is_role(&m[i], "assistant"))
            return ingot_fail(INGOT_E_INVALID, "message %d has the role '%.32s' (valid: system, user, assistant)", i, m[i].role);
        const size_t length = strlen(m[i].content), bad = ingot_utf8_check(m[i].content, length);
        if (bad < length) return ingot_fail(INGOT_E_INVALID, "message %d is not valid UTF-8 at byte offset %zu", i, bad);
    }
    return INGOT_OK;
}

ingot_status ingot_tokenizer_chat(const ingot_tokenizer *t, const struct ingot_message *m, int n, bool first, bool add_header, int32_t **ids, size_t *n_ids) {
    *ids = NULL;
    *n_ids = 0;
    const chat_format *f = recognise(t);
    INGOT_TRY(check(t, f, m, n));
    builder b = {.t = t, .format = f->name};
    ingot_status s = f->build(&b, m, n, first, add_header);
    if (s == INGOT_OK) s = flush(&b);
    ingot_dealloc(b.text.p);
    return ingot_encoding_finish(&b.e, s, ids, n_ids);
}
