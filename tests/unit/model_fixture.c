#include "model_fixture.h"
#include "base/rng.h"
#include "gguf_build.h"
#include "test.h"
#include <stdlib.h>
#include <unistd.h>

const model_spec tiny_llama = {.arch = "llama", .n_layers = 2, .n_embd = 32, .n_heads = 4, .n_kv_heads = 2, .k_dim = 64, .v_dim = 64, .n_ff = 96,
                               .n_ctx = 256, .n_vocab = 40, .n_rot = 64, .rope_base = 500.0f};
const model_spec tiny_gemma3 = {.arch = "gemma3", .n_layers = 3, .n_embd = 32, .n_heads = 4, .n_kv_heads = 1, .k_dim = 64, .v_dim = 64, .n_ff = 64,
                                .n_ctx = 256, .n_vocab = 40, .rope_base = 1000.0f, .sliding_window = 24, .pattern = 2};

float *model_values(const char *name, size_t n) {
    ingot_rng rng = {1469598103934665603ull};
    for (const char *c = name; *c; c++) rng.state = (rng.state ^ (uint8_t)*c) * 1099511628211ull;
    const bool norm = strstr(name, "norm") != NULL, factors = strstr(name, "rope_freqs") != NULL;
    float *x = malloc((n ? n : 1) * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = factors ? 1.0f + (float)(i % 5) : (norm ? 1.0f : 0.0f) + (float)((norm ? 0.2 : 0.25) * ingot_rng_normal(&rng));
    return x;
}

/* --- the list of tensors --- */

typedef struct tensor_list { const model_spec *spec; char name[64][48]; uint64_t d0[64], d1[64]; int n; } tensor_list;

static void list_add(tensor_list *l, const char *name, int d0, int d1) {
    const model_spec *s = l->spec;
    if (s->drop && !strcmp(s->drop, name)) return;
    if (!CHECK(l->n < 64)) return;
    const bool spoilt = s->tensor && !strcmp(s->tensor, name);
    snprintf(l->name[l->n], sizeof l->name[0], "%s", name);
    l->d0[l->n] = spoilt ? s->d0 : (uint64_t)d0;
    l->d1[l->n++] = spoilt ? s->d1 : (uint64_t)d1;
}

static void list_layer(tensor_list *l, int layer) {
    const model_spec *s = l->spec;
    const bool gemma = !strcmp(s->arch, "gemma3");
    const int q = s->n_heads * s->k_dim, k = s->n_kv_heads * s->k_dim, v = s->n_kv_heads * s->v_dim, att = s->n_heads * s->v_dim, e = s->n_embd, f = s->n_ff;
    const struct { const char *name; int d0, d1; bool there; } all[] = {
        {"attn_norm.weight", e, 0, true}, {"attn_q.weight", e, q, true}, {"attn_k.weight", e, k, true}, {"attn_v.weight", e, v, true},
        {"attn_q.bias", q, 0, s->biases}, {"attn_k.bias", k, 0, s->biases}, {"attn_v.bias", v, 0, s->biases}, {"attn_output.bias", e, 0, s->biases},
        {"attn_q_norm.weight", s->k_dim, 0, gemma}, {"attn_k_norm.weight", s->k_dim, 0, gemma}, {"attn_output.weight", att, e, true},
        {"post_attention_norm.weight", e, 0, gemma}, {"ffn_norm.weight", e, 0, true}, {"ffn_gate.weight", e, f, true}, {"ffn_up.weight", e, f, true},
        {"ffn_down.weight", f, e, true}, {"post_ffw_norm.weight", e, 0, gemma}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%d.%s", layer, all[i].name);
        if (all[i].there) list_add(l, name, all[i].d0, all[i].d1);
    }
}

static void list_tensors(tensor_list *l, const model_spec *s) {
    *l = (tensor_list){.spec = s};
    list_add(l, "token_embd.weight", s->n_embd, s->n_vocab);
    for (int i = 0; i < s->n_layers; i++) list_layer(l, i);
    if (s->rope_factors) list_add(l, "rope_freqs.weight", s->n_rot / 2, 0);
    list_add(l, "output_norm.weight", s->n_embd, 0);
    if (s->separate_output) list_add(l, "output.weight", s->n_embd, s->n_vocab);
}

/* --- keys --- */

/* Keys are counted in one go and written in another. */
typedef struct key_sink { const model_spec *spec; gguf_build *b; uint64_t n; } key_sink;

static bool key_wanted(key_sink *k, const char *name, char *full, size_t cap) {
    snprintf(full, cap, "%s.%s", k->spec->arch, name);
    if (k->spec->drop && !strcmp(k->spec->drop, full)) return false;
    k->n++;
    return k->b != NULL;
}

static void key_int(key_sink *k, const char *name, int v) {
    char full[96];
    if (v == 0 && !(k->spec->key && strstr(k->spec->key, name))) return;
    if (!key_wanted(k, name, full, sizeof full)) return;
    build_key_u32(k->b, full, k->spec->key && !strcmp(k->spec->key, full) ? k->spec->key_value : (uint32_t)v);
}

static void key_float(key_sink *k, const char *name, float v) {
    char full[96];
    if (v == 0.0f || !key_wanted(k, name, full, sizeof full)) return;
    if (k->spec->key && !strcmp(k->spec->key, full)) build_key_u32(k->b, full, k->spec->key_value);
    else build_key_f32(k->b, full, v);
}

static void write_keys(key_sink *k) {
    const model_spec *s = k->spec;
    key_int(k, "block_count", s->n_layers);
    key_int(k, "embedding_length", s->n_embd);
    key_int(k, "feed_forward_length", s->n_ff);
    key_int(k, "context_length", s->n_ctx);
    key_int(k, "attention.head_count", s->n_heads);
    key_int(k, "attention.head_count_kv", s->n_kv_heads);
    key_int(k, "attention.key_length", s->k_dim);
    key_int(k, "attention.value_length", s->v_dim);
    key_int(k, "rope.dimension_count", s->n_rot);
    key_int(k, "expert_count", 0);
    key_int(k, "attention.sliding_window", s->sliding_window);
    key_int(k, "attention.sliding_window_pattern", s->pattern);
    key_float(k, "attention.layer_norm_rms_epsilon", 1e-5f);
    key_float(k, "rope.freq_base", s->rope_base);
    key_float(k, "attention.scale", s->attention_scale);
    key_float(k, "rope.scaling.factor", s->linear_factor);
    if (s->str_key) {
        k->n++;
        if (k->b) build_key_str(k->b, s->str_key, s->str_value);
    }
}

/* A vocabulary of n tokens of SentencePiece kind. */
static void write_vocabulary(gguf_build *b, int n) {
    build_key_str(b, "tokenizer.ggml.model", "llama");
    build_key_array(b, "tokenizer.ggml.tokens", INGOT_GGUF_STRING, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, i == 0 ? "<unk>" : "t%d", i);
        build_str(b, text);
    }
    build_key_array(b, "tokenizer.ggml.scores", INGOT_GGUF_F32, (uint64_t)n);
    for (int i = 0; i < n; i++) build_f32(b, -(float)i);
    build_key_array(b, "tokenizer.ggml.token_type", INGOT_GGUF_I32, (uint64_t)n);
    for (int i = 0; i < n; i++) build_u32(b, i == 0 ? 2 : 1);
}

/* --- the file --- */

static char dir[256], path[300];

static uint64_t elements(const tensor_list *l, int i) { return l->d0[i] * (l->d1[i] ? l->d1[i] : 1); }

static void flush(gguf_build *b, FILE *f) {
    fwrite(b->p, 1, b->n, f);
    b->n = 0;
}

static void write_data(const tensor_list *l, FILE *f) {
    while (ftell(f) % 32) fputc(0, f);
    for (int i = 0; i < l->n; i++) {
        float *x = model_values(l->name[i], elements(l, i));
        fwrite(x, sizeof *x, elements(l, i), f);
        free(x);
        while (ftell(f) % 32) fputc(0, f);
    }
}

static void write_file(const model_spec *spec, FILE *f) {
    static tensor_list l;
    static gguf_build b;
    key_sink count = {.spec = spec}, keys = {.spec = spec, .b = &b};
    list_tensors(&l, spec);
    write_keys(&count);
    build_header(&b, 3, (uint64_t)l.n, count.n + 6);
    build_key_str(&b, "general.architecture", spec->arch);
    build_key_str(&b, "general.name", "tiny");
    write_keys(&keys);
    flush(&b, f);
    write_vocabulary(&b, spec->n_vocab);
    flush(&b, f);
    uint64_t offset = 0;
    for (int i = 0; i < l.n; i++) {
        build_tensor(&b, l.name[i], l.d0[i], l.d1[i], INGOT_W_F32, offset);
        offset += (elements(&l, i) * 4 + 31) / 32 * 32;
        flush(&b, f);
    }
    write_data(&l, f);
}

const char *model_write(const model_spec *spec) {
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/ingot-model-XXXXXX", tmp && strlen(tmp) < 150 ? tmp : P_tmpdir);
    if (!CHECK(mkdtemp(dir) != NULL)) return NULL;
    snprintf(path, sizeof path, "%s/tiny.gguf", dir);
    FILE *f = fopen(path, "wb");
    if (!CHECK(f != NULL)) return NULL;
    write_file(spec, f);
    return CHECK(fclose(f) == 0) ? path : NULL;
}

void model_remove(const char *p) {
    if (!p) return;
    remove(p);
    rmdir(dir);
}

ingot_status model_open_spec(ingot_model **m, const model_spec *spec, ingot_device *device) {
    const ingot_model_options options = {.device = device, .vocab_only = device == NULL};
    const char *p = model_write(spec);
    *m = NULL;
    if (!p) return INGOT_E_IO;
    const ingot_status s = ingot_model_open(m, p, &options); /* the mapping outlives the name */
    model_remove(p);
    return s;
}
