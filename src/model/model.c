/* Opening a model: map and check the file, read its tokenizer, build its architecture, prepare its weights. */
#include "model.h"
#include "../base/alloc.h"
#include "../base/checked.h"
#include "../base/error.h"
#include "../gguf/gguf_cursor.h"
#include "../gguf/wtype.h"
#include "model_build.h"
#include "model_weights.h"
#include <stdio.h>
#include <string.h>

static bool report(const ingot_model_options *o, const char *what, double fraction) {
    return !o->progress || o->progress(o->progress_user, what, fraction);
}

/* NUL-terminated copy of a string of the file, cut at 200 bytes; `otherwise` when the key is absent. */
static ingot_status copy_key(char **out, const ingot_gguf *g, const char *key, const char *otherwise) {
    ingot_str s = {otherwise, strlen(otherwise)};
    bool found;
    INGOT_TRY(ingot_gguf_get_str(g, key, &s, &found));
    const size_t n = s.n < 200 ? s.n : 200;
    *out = ingot_alloc(n + 1, INGOT_MEM_OTHER);
    if (!*out) return ingot_fail(INGOT_E_NOMEM, "out of memory for key %s", key);
    memcpy(*out, s.p, n);
    return INGOT_OK;
}

/* "Q4_1 x210, F32 x61": how many tensors have which number format, in the order of first appearance. */
static ingot_status list_file_types(ingot_model *m) {
    enum { MAX_KINDS = 24, CAP = 512 };
    uint32_t kinds[MAX_KINDS];
    int counts[MAX_KINDS] = {0}, n_kinds = 0;
    uint64_t params = 0;
    for (int i = 0; i < ingot_gguf_tensor_count(m->gguf); i++) {
        const ingot_gguf_tensor *t = ingot_gguf_tensor_at(m->gguf, i);
        const uint64_t elements = t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]; /* the parser has checked the product */
        if (!ingot_add_u64(params, elements, &params)) return ingot_fail(INGOT_E_FORMAT, "the tensors have more than 2^64 elements");
        int k = 0;
        while (k < n_kinds && kinds[k] != t->type) k++;
        if (k == n_kinds && n_kinds < MAX_KINDS) kinds[n_kinds++] = t->type;
        if (k < n_kinds) counts[k]++;
    }
    m->info.n_params = params;
    m->file_types = ingot_alloc(CAP, INGOT_MEM_OTHER);
    if (!m->file_types) return ingot_fail(INGOT_E_NOMEM, "out of memory");
    size_t at = 0;
    for (int k = 0; k < n_kinds && at < CAP; k++)
        at += (size_t)snprintf(m->file_types + at, CAP - at, "%s%s x%d", k ? ", " : "", ingot_wtype_any_name(kinds[k]), counts[k]);
    return INGOT_OK;
}

static ingot_status unknown_architecture(const char *name) {
    char known[256] = "", shown[64];
    size_t at = 0;
    for (int i = 0; i < ingot_arch_count() && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", ingot_arch_at(i)->name);
    return ingot_fail(INGOT_E_UNSUPPORTED, "the model's architecture is \"%s\", known are: %s", gguf_printable(shown, sizeof shown, (ingot_str){name, strlen(name)}), known);
}

static ingot_status build_architecture(ingot_model *m) {
    const ingot_arch *arch = ingot_arch_find(m->architecture, strlen(m->architecture));
    if (!arch) return unknown_architecture(m->architecture);
    ingot_model_build b = {.model = m, .gguf = m->gguf, .arch = arch->name};
    INGOT_TRY(arch->build(&b));
    return b.status;
}

static ingot_status open_parts(ingot_model *m, const char *path, const ingot_model_options *o) {
    if (!report(o, "reading the file", 0.0)) return ingot_fail(INGOT_E_CANCELLED, "loading was cancelled");
    INGOT_TRY(ingot_gguf_open(&m->gguf, path));
    bool found = false;
    ingot_str arch;
    INGOT_TRY(ingot_gguf_get_str(m->gguf, "general.architecture", &arch, &found));
    if (!found) return ingot_fail(INGOT_E_FORMAT, "the model file has no key general.architecture");
    INGOT_TRY(copy_key(&m->architecture, m->gguf, "general.architecture", ""));
    INGOT_TRY(copy_key(&m->name, m->gguf, "general.name", ""));
    INGOT_TRY(list_file_types(m));
    m->info.architecture = m->architecture;
    m->info.name = m->name;
    m->info.file_types = m->file_types;
    m->info.file_bytes = ingot_gguf_file_bytes(m->gguf);

    /* An architecture that cannot run is said before a large vocabulary is read. */
    const bool known = ingot_arch_find(m->architecture, strlen(m->architecture)) != NULL;
    if (!known && !o->vocab_only) return unknown_architecture(m->architecture);
    if (!report(o, "reading the vocabulary", 0.0)) return ingot_fail(INGOT_E_CANCELLED, "loading was cancelled");
    INGOT_TRY(ingot_tokenizer_open(&m->tokenizer, m->gguf));
    m->info.n_vocab = ingot_tokenizer_size(m->tokenizer);
    const char *chat = ingot_tokenizer_chat_format(m->tokenizer);
    m->info.has_chat_template = !chat || *chat;

    if (o->vocab_only && (!known || ingot_gguf_tensor_count(m->gguf) == 0)) return INGOT_OK;
    INGOT_TRY(build_architecture(m));
    return o->vocab_only ? INGOT_OK : ingot_model_weights_prepare(m, o);
}

ingot_status ingot_model_open(ingot_model **out, const char *path, const ingot_model_options *options) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the model");
    *out = NULL;
    if (!path || !options) return ingot_fail(INGOT_E_INVALID, "a model needs a path and options");
    if (!options->vocab_only && !options->device) return ingot_fail(INGOT_E_INVALID, "a model needs a device for its weights");
    ingot_model *m = ingot_alloc(sizeof *m, INGOT_MEM_OTHER);
    if (!m) return ingot_fail(INGOT_E_NOMEM, "out of memory for a model");
    m->device = options->vocab_only ? NULL : options->device;
    m->fingerprint = ingot_alloc(sizeof *m->fingerprint, INGOT_MEM_OTHER);
    const ingot_status s = m->fingerprint ? open_parts(m, path, options) : ingot_fail(INGOT_E_NOMEM, "out of memory for a model");
    if (s != INGOT_OK) {
        ingot_model_close(m);
        return s;
    }
    *out = m;
    return INGOT_OK;
}

void ingot_model_close(ingot_model *m) {
    if (!m) return;
    ingot_model_weights_free(m);
    for (int i = 0; i < m->n_vectors; i++) ingot_dealloc(m->vectors[i]);
    for (int i = 0; i < m->n_ropes; i++) ingot_dealloc(m->ropes[i].freq);
    void *owned[] = {m->vectors, m->ropes, m->weights, m->tape, m->layers, m->architecture, m->name, m->file_types, m->fingerprint};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    if (m->tokenizer) ingot_tokenizer_close(m->tokenizer);
    if (m->gguf) ingot_gguf_close(m->gguf);
    ingot_dealloc(m);
}

void ingot_model_info_get(const ingot_model *model, ingot_model_info *out) { *out = model->info; }

ingot_status ingot_model_tokenize(const ingot_model *model, const char *text, size_t n_bytes, int flags, int32_t **ids, size_t *n_ids) {
    return ingot_tokenizer_encode(model->tokenizer, text, n_bytes, flags, ids, n_ids);
}

const char *ingot_model_token_bytes(const ingot_model *model, int32_t id, bool special, size_t *n_bytes) {
    return ingot_tokenizer_bytes(model->tokenizer, id, special, n_bytes);
}

int32_t ingot_model_bos(const ingot_model *model) { return ingot_tokenizer_bos(model->tokenizer); }
bool ingot_model_adds_bos(const ingot_model *model) { return ingot_tokenizer_adds_bos(model->tokenizer); }
bool ingot_model_is_end(const ingot_model *model, int32_t id) { return ingot_tokenizer_is_end(model->tokenizer, id); }

ingot_status ingot_model_chat_tokens(const ingot_model *model, const ingot_message *messages, int n, bool first, bool add_header, int32_t **ids, size_t *n_ids) {
    return ingot_tokenizer_chat(model->tokenizer, messages, n, first, add_header, ids, n_ids);
}
int32_t ingot_model_chat_end(const ingot_model *model) { return ingot_tokenizer_chat_end(model->tokenizer); }

void ingot_free_memory(void *p) { ingot_dealloc(p); }
