/* Keys of the file: typed, in range, with the architecture's prefix; geometry and RoPE that all decoders share. */
#include "model_build.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES 160

void ingot_build_fail(ingot_model_build *b, ingot_status s, const char *fmt, ...) {
    if (b->status != INGOT_OK) return;
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    b->status = ingot_fail(s, "%s", text);
}

static const char *full_key(const ingot_model_build *b, const char *key, char buf[KEY_BYTES]) {
    snprintf(buf, KEY_BYTES, "%s.%s", b->arch, key);
    return buf;
}

/* Reads an integer key in [min, max]; false when absent or after a failure. */
static bool read_int(ingot_model_build *b, const char *key, int min, int max, int *out) {
    if (b->status != INGOT_OK) return false;
    char name[KEY_BYTES];
    uint32_t v = 0;
    bool found = false;
    b->status = ingot_gguf_get_u32(b->gguf, full_key(b, key, name), &v, &found);
    if (b->status != INGOT_OK || !found) return false;
    if (v > (uint32_t)INT_MAX || (int)v < min || (int)v > max) {
        ingot_build_fail(b, INGOT_E_FORMAT, "%s is %u, must be %d to %d", name, v, min, max);
        return false;
    }
    *out = (int)v;
    return true;
}

static bool read_float(ingot_model_build *b, const char *key, float *out) {
    if (b->status != INGOT_OK) return false;
    char name[KEY_BYTES];
    float v = 0.0f;
    bool found = false;
    b->status = ingot_gguf_get_f32(b->gguf, full_key(b, key, name), &v, &found);
    if (b->status != INGOT_OK || !found) return false;
    if (!isfinite(v)) {
        ingot_build_fail(b, INGOT_E_FORMAT, "%s is %g, must be a finite number", name, (double)v);
        return false;
    }
    *out = v;
    return true;
}

static void fail_missing(ingot_model_build *b, const char *key) {
    char name[KEY_BYTES];
    ingot_build_fail(b, INGOT_E_FORMAT, "the model file has no key %s", full_key(b, key, name));
}

int ingot_build_int(ingot_model_build *b, const char *key, int min, int max) {
    int v = 0;
    if (!read_int(b, key, min, max, &v)) fail_missing(b, key); /* keeps an earlier failure */
    return v;
}

int ingot_build_int_or(ingot_model_build *b, const char *key, int min, int max, int otherwise) {
    int v = otherwise;
    read_int(b, key, min, max, &v);
    return v;
}

float ingot_build_float(ingot_model_build *b, const char *key) {
    float v = 0.0f;
    if (!read_float(b, key, &v)) fail_missing(b, key);
    return v;
}

float ingot_build_float_or(ingot_model_build *b, const char *key, float otherwise) {
    float v = otherwise;
    read_float(b, key, &v);
    return v;
}

static void read_heads(ingot_model_build *b, ingot_model_info *i) {
    i->n_heads = ingot_build_int(b, "attention.head_count", 1, 65536);
    i->n_kv_heads = ingot_build_int_or(b, "attention.head_count_kv", 1, 65536, i->n_heads);
    if (b->status != INGOT_OK) return;
    if (i->n_heads % i->n_kv_heads)
        ingot_build_fail(b, INGOT_E_FORMAT, "%s.attention.head_count is %d, must be a multiple of %s.attention.head_count_kv, which is %d", b->arch, i->n_heads, b->arch, i->n_kv_heads);
    const int per_head = i->n_embd / i->n_heads;
    i->k_dim = ingot_build_int_or(b, "attention.key_length", 1, INGOT_MAX_HEAD_DIM, 0);
    i->v_dim = ingot_build_int_or(b, "attention.value_length", 1, INGOT_MAX_HEAD_DIM, 0);
    if ((i->k_dim == 0 || i->v_dim == 0) && (i->n_embd % i->n_heads || per_head > INGOT_MAX_HEAD_DIM))
        ingot_build_fail(b, INGOT_E_FORMAT, "%s.embedding_length %d over %s.attention.head_count %d makes no head size up to %d", b->arch, i->n_embd, b->arch, i->n_heads, INGOT_MAX_HEAD_DIM);
    if (i->k_dim == 0) i->k_dim = per_head;
    if (i->v_dim == 0) i->v_dim = per_head;
}

float ingot_build_geometry(ingot_model_build *b) {
    ingot_model_info *i = &b->model->info;
    i->n_layers = ingot_build_int(b, "block_count", 1, INGOT_MAX_LAYERS);
    i->n_embd = ingot_build_int(b, "embedding_length", 1, 1 << 20);
    i->n_ff = ingot_build_int(b, "feed_forward_length", 1, 1 << 22);
    i->n_ctx_train = ingot_build_int(b, "context_length", 1, INT_MAX);
    i->n_vocab = ingot_tokenizer_size(b->model->tokenizer);
    read_heads(b, i);
    const float eps = ingot_build_float(b, "attention.layer_norm_rms_epsilon");
    if (eps < 0.0f) ingot_build_fail(b, INGOT_E_FORMAT, "%s.attention.layer_norm_rms_epsilon is %g, must not be negative", b->arch, (double)eps);
    if (b->status != INGOT_OK) return 0.0f;

    ingot_layer_shape *layers = ingot_alloc_array((size_t)i->n_layers, sizeof *layers, INGOT_MEM_OTHER);
    if (!layers) {
        ingot_build_fail(b, INGOT_E_NOMEM, "out of memory for %d layers", i->n_layers);
        return 0.0f;
    }
    for (int l = 0; l < i->n_layers; l++)
        layers[l] = (ingot_layer_shape){.n_heads = i->n_heads, .n_kv_heads = i->n_kv_heads, .k_dim = i->k_dim, .v_dim = i->v_dim,
                                        .sliding_window = 0, .scale = 1.0f / sqrtf((float)i->k_dim)};
    b->model->layers = layers;
    i->layers = layers;
    return eps;
}

/* The rope.scaling keys and the rope_freqs tensor into `p`. */
static void read_scaling(ingot_model_build *b, ingot_rope_params *p) {
    const float factor = ingot_build_float_or(b, "rope.scaling.factor", 0.0f);
    p->factor = factor != 0.0f ? (double)factor : (double)ingot_build_float_or(b, "rope.scale_linear", 1.0f);
    p->factors = ingot_build_vector_or_null(b, p->n_rot / 2, "rope_freqs.weight");
    if (b->status != INGOT_OK) return;

    char name[KEY_BYTES];
    ingot_str type = {"linear", 6}; /* a factor without a type means linear */
    bool found;
    b->status = ingot_gguf_get_str(b->gguf, full_key(b, "rope.scaling.type", name), &type, &found);
    if (b->status != INGOT_OK) return;
    if (type.n == 6 && !memcmp(type.p, "linear", 6)) {
        p->scaling = INGOT_ROPE_LINEAR;
    } else if (type.n == 4 && !memcmp(type.p, "yarn", 4)) {
        p->scaling = INGOT_ROPE_YARN;
        p->n_ctx_orig = ingot_build_int_or(b, "rope.scaling.original_context_length", 1, INT_MAX, b->model->info.n_ctx_train);
        p->ext_factor = (double)ingot_build_float_or(b, "rope.scaling.yarn_ext_factor", 1.0f);
        p->attn_factor = (double)ingot_build_float_or(b, "rope.scaling.attn_factor", 1.0f);
        p->attn_factor *= (double)ingot_build_float_or(b, "rope.scaling.yarn_attn_factor", 1.0f);
        p->beta_fast = (double)ingot_build_float_or(b, "rope.scaling.yarn_beta_fast", 32.0f);
        p->beta_slow = (double)ingot_build_float_or(b, "rope.scaling.yarn_beta_slow", 1.0f);
    } else if (!(type.n == 4 && !memcmp(type.p, "none", 4))) {
        ingot_build_fail(b, INGOT_E_UNSUPPORTED, "%s is \"%.*s\", known are none, linear, yarn", name, (int)(type.n < 64 ? type.n : 64), type.p);
    }
}

int ingot_build_rope(ingot_model_build *b, double base, bool neox, bool scaled) {
    ingot_model *m = b->model;
    const int k_dim = m->info.k_dim;
    ingot_rope_params p = {.n_rot = ingot_build_int_or(b, "rope.dimension_count", 2, INGOT_MAX_HEAD_DIM, k_dim), .base = base, .factor = 1.0};
    if (b->status == INGOT_OK && p.n_rot > k_dim)
        ingot_build_fail(b, INGOT_E_FORMAT, "%s.rope.dimension_count is %d, must be at most the key length %d", b->arch, p.n_rot, k_dim);
    if (b->status == INGOT_OK && scaled) read_scaling(b, &p);
    if (b->status != INGOT_OK) return 0;

    ingot_rope_spec *ropes = ingot_realloc(m->ropes, (size_t)(m->n_ropes + 1) * sizeof *ropes, INGOT_MEM_OTHER);
    if (ropes) m->ropes = ropes;
    double *freq = ropes ? ingot_alloc_array((size_t)(p.n_rot + 1) / 2, sizeof *freq, INGOT_MEM_OTHER) : NULL;
    if (!freq) {
        ingot_build_fail(b, INGOT_E_NOMEM, "out of memory for a RoPE table");
        return 0;
    }
    ingot_rope_spec *spec = &m->ropes[m->n_ropes++];
    *spec = (ingot_rope_spec){.n_rot = p.n_rot, .neox = neox, .freq = freq};
    b->status = ingot_rope_frequencies(&p, freq, &spec->mscale);
    return m->n_ropes - 1;
}
