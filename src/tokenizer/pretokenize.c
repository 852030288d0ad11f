/* The patterns are those of the models' published tokenizer.json files, with three changes that do not alter what they match:
 * possessive quantifiers where giving back cannot help; white space spelt out, because PCRE2's \s includes U+180E, which
 * Unicode no longer counts as such; and, for SmolLM, the two steps "every digit alone, then GPT-2's pattern between the
 * digits" as one pattern, in which a digit ends a run of white space as the end of the text does. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pretokenize.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#define WS "\\p{Z}\\t-\\r\\x{85}"
#define SPACE "[" WS "]"
#define OTHER "[^" WS "\\p{L}\\p{N}]"
#define GPT2_WORDS "'(?:s|t|re|ve|m|ll|d)| ?\\p{L}++|"
#define LATER_WORDS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|"
#define LATER_REST "| ?" OTHER "++[\\r\\n]*+|" SPACE "*[\\r\\n]++|" SPACE "+(?![^" WS "])|" SPACE "+"

#define GPT2 GPT2_WORDS " ?\\p{N}++| ?" OTHER "++|" SPACE "+(?![^" WS "])|" SPACE "+"
#define SMOLLM GPT2_WORDS "\\p{N}| ?" OTHER "++|" SPACE "+(?![^" WS "\\p{N}])|" SPACE "+"
#define LLAMA3 LATER_WORDS "\\p{N}{1,3}+" LATER_REST
#define QWEN2 LATER_WORDS "\\p{N}" LATER_REST

static const struct rule {
    const char *name, *pattern;
    bool ignore_merges, adds_bos;
} rules[] = {
    {"gpt-2", GPT2, false, false},     {"default", GPT2, false, false},   {"smollm", SMOLLM, false, false},
    {"starcoder", SMOLLM, false, false}, {"llama-bpe", LLAMA3, true, true}, {"llama3", LLAMA3, true, true},
    {"llama-v3", LLAMA3, true, true},  {"qwen2", QWEN2, false, false},    {"deepseek-r1-qwen", QWEN2, false, false},
};
enum { N_RULES = sizeof rules / sizeof *rules };

struct ingot_pretokenizer {
    const struct rule *rule;
    pcre2_general_context *memory;
    pcre2_code *code;
};

struct ingot_splitter {
    const ingot_pretokenizer *p;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static void *pcre_alloc(size_t n, void *user) {
    (void)user;
    return ingot_alloc(n, INGOT_MEM_TOKENIZER);
}
static void pcre_free(void *p, void *user) {
    (void)user;
    ingot_dealloc(p);
}

static const struct rule *find_rule(ingot_str name) {
    for (int i = 0; i < N_RULES; i++)
        if (name.n == strlen(rules[i].name) && memcmp(name.p, rules[i].name, name.n) == 0) return &rules[i];
    return NULL;
}

static ingot_status unknown_rule(ingot_str name) {
    char known[256];
    size_t n = 0;
    known[0] = 0;
    for (int i = 0; i < N_RULES && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", rules[i].name);
    return ingot_fail(INGOT_E_UNSUPPORTED, "tokenizer.ggml.pre '%.*s' is not supported (supported: %s)",
                      (int)(name.n < 64 ? name.n : 64), name.p, known);
}

static ingot_status compile(ingot_pretokenizer *p) {
    p->memory = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    pcre2_compile_context *c = p->memory ? pcre2_compile_context_create(p->memory) : NULL;
    if (!c) return ingot_fail(INGOT_E_NOMEM, "no memory for the pre-tokenizer '%s'", p->rule->name);
    int error = 0;
    size_t at = 0;
    /* Anchored: each word starts where the last one ended, and every character belongs to some alternative. */
    p->code = pcre2_compile((PCRE2_SPTR)p->rule->pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &at, c);
    pcre2_compile_context_free(c);
    if (!p->code)
        return ingot_fail(error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED ? INGOT_E_NOMEM : INGOT_E_UNSUPPORTED,
                          "the pattern of pre-tokenizer '%s' does not compile: PCRE2 error %d at %zu", p->rule->name, error, at);
    /* Where the system forbids machine code made at run time, the interpreter matches the same, only slower. */
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
    return INGOT_OK;
}

ingot_status ingot_pretokenizer_open(ingot_pretokenizer **out, ingot_str name) {
    *out = NULL;
    const struct rule *rule = find_rule(name);
    if (!rule) return unknown_rule(name);
    ingot_pretokenizer *p = ingot_alloc(sizeof *p, INGOT_MEM_TOKENIZER);
    if (!p) return ingot_fail(INGOT_E_NOMEM, "no memory for a pre-tokenizer");
    p->rule = rule;
    const ingot_status s = compile(p);
    if (s != INGOT_OK) {
        ingot_pretokenizer_close(p);
        return s;
    }
    *out = p;
    return INGOT_OK;
}

void ingot_pretokenizer_close(ingot_pretokenizer *p) {
    if (!p) return;
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->memory);
    ingot_dealloc(p);
}

bool ingot_pretokenizer_ignores_merges(const ingot_pretokenizer *p) { return p->rule->ignore_merges; }
bool ingot_pretokenizer_adds_bos(const ingot_pretokenizer *p) { return p->rule->adds_bos; }

ingot_status ingot_splitter_open(ingot_splitter **out, const ingot_pretokenizer *p) {
    *out = NULL;
    ingot_splitter *s = ingot_alloc(sizeof *s, INGOT_MEM_TOKENIZER);
    if (!s) return ingot_fail(INGOT_E_NOMEM, "no memory to split a text");
    s->p = p;
    s->match = pcre2_match_data_create(1, p->memory);
    s->limits = pcre2_match_context_create(p->memory);
    if (!s->match || !s->limits) {
        ingot_splitter_close(s);
        return ingot_fail(INGOT_E_NOMEM, "no memory to split a text");
    }
    /* PCRE2's limit guards against patterns of exponential cost; these cost a few steps per character, and a run of a
     * gigabyte of spaces is a legal text. */
    pcre2_set_match_limit(s->limits, UINT32_MAX);
    *out = s;
    return INGOT_OK;
}

void ingot_splitter_close(ingot_splitter *s) {
    if (!s) return;
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->limits);
    ingot_dealloc(s);
}

ingot_status ingot_splitter_next(ingot_splitter *s, const char *text, size_t n, size_t at, size_t *end) {
    const int rc = pcre2_match(s->p->code, (PCRE2_SPTR)text, n, at, PCRE2_NO_UTF_CHECK, s->match, s->limits);
    if (rc < 0)
        return ingot_fail(rc == PCRE2_ERROR_NOMEMORY ? INGOT_E_NOMEM : INGOT_E_UNSUPPORTED,
                          "pre-tokenizer '%s' cannot split the text at byte %zu: PCRE2 error %d", s->p->rule->name, at, rc);
    *end = pcre2_get_ovector_pointer(s->match)[1];
    return INGOT_OK;
}
