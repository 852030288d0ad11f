/* Gemma 3 (text): norms before and after each block, QK-norm, GeGLU, scaled embedding, tied output. Five of six layers see a sliding
 * window and use a RoPE base of their own; scaling of RoPE applies to the global layers. The converter to GGUF stores norm weights as 1 + w.
 * Source: Gemma Team, "Gemma 3 Technical Report" (arXiv 2503.19786). */
#include "model_build.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>

enum { DEFAULT_PATTERN = 6, LAYERS_27B = 62 };

/* Marks the sliding layers: every layer but each pattern-th. The key may also be an array with one flag a layer. */
static void mark_sliding(ingot_model_build *b) {
    ingot_model_info *i = &b->model->info;
    const int window = ingot_build_int(b, "attention.sliding_window", 1, INT_MAX);
    if (b->status != INGOT_OK) return;
    const char *key = "gemma3.attention.sliding_window_pattern";
    bool flags[INGOT_MAX_LAYERS], found = false;
    ingot_gguf_type type;
    uint64_t count = 0;
    const bool is_array = ingot_gguf_get_array(b->gguf, key, &type, &count, &found) == INGOT_OK && found;
    if (is_array) {
        if (count != (uint64_t)i->n_layers) ingot_build_fail(b, INGOT_E_FORMAT, "%s has %llu entries, wanted one for each of %d layers", key, (unsigned long long)count, i->n_layers);
        else b->status = ingot_gguf_array_bool(b->gguf, key, flags, count);
    } else {
        const int pattern = ingot_build_int_or(b, "attention.sliding_window_pattern", 1, INGOT_MAX_LAYERS, DEFAULT_PATTERN);
        for (int l = 0; l < i->n_layers; l++) flags[l] = l % pattern < pattern - 1;
    }
    if (b->status != INGOT_OK) return;
    i->sliding_window = window;
    for (int l = 0; l < i->n_layers; l++) {
        if (!flags[l]) continue;
        b->model->layers[l].sliding_window = window;
        i->n_sliding_layers++;
    }
}

static void attention(ingot_model_build *b, int l, float eps, int rope) {
    const ingot_model_info *i = &b->model->info;
    const int q = i->n_heads * i->k_dim, k = i->n_kv_heads * i->k_dim, v = i->n_kv_heads * i->v_dim, att = i->n_heads * i->v_dim, e = i->n_embd;
    ingot_tape_norm(b, INGOT_BUF_NORM, INGOT_BUF_X, ingot_build_vector(b, e, "blk.%d.attn_norm.weight", l), 1, e, eps);
    ingot_tape_linear(b, INGOT_BUF_NORM, e);
    ingot_tape_product(b, INGOT_BUF_Q, ingot_build_matrix(b, q, e, "blk.%d.attn_q.weight", l), NULL);
    ingot_tape_product(b, INGOT_BUF_K, ingot_build_matrix(b, k, e, "blk.%d.attn_k.weight", l), NULL);
    ingot_tape_product(b, INGOT_BUF_V, ingot_build_matrix(b, v, e, "blk.%d.attn_v.weight", l), NULL);
    ingot_tape_norm(b, INGOT_BUF_Q, INGOT_BUF_Q, ingot_build_vector(b, i->k_dim, "blk.%d.attn_q_norm.weight", l), i->n_heads, i->k_dim, eps);
    ingot_tape_norm(b, INGOT_BUF_K, INGOT_BUF_K, ingot_build_vector(b, i->k_dim, "blk.%d.attn_k_norm.weight", l), i->n_kv_heads, i->k_dim, eps);
    ingot_tape_rope(b, INGOT_BUF_Q, i->n_heads, i->k_dim, rope);
    ingot_tape_rope(b, INGOT_BUF_K, i->n_kv_heads, i->k_dim, rope);
    ingot_tape_attend(b, l);
    ingot_tape_linear(b, INGOT_BUF_ATT, att);
    ingot_tape_product(b, INGOT_BUF_TMP, ingot_build_matrix(b, e, att, "blk.%d.attn_output.weight", l), NULL);
    ingot_tape_norm(b, INGOT_BUF_TMP, INGOT_BUF_TMP, ingot_build_vector(b, e, "blk.%d.post_attention_norm.weight", l), 1, e, eps);
    ingot_tape_add(b, INGOT_BUF_X, INGOT_BUF_TMP, e);
}

static void feed_forward(ingot_model_build *b, int l, float eps) {
    const ingot_model_info *i = &b->model->info;
    const int e = i->n_embd, f = i->n_ff;
    ingot_tape_norm(b, INGOT_BUF_NORM, INGOT_BUF_X, ingot_build_vector(b, e, "blk.%d.ffn_norm.weight", l), 1, e, eps);
    ingot_tape_linear(b, INGOT_BUF_NORM, e);
    ingot_tape_product(b, INGOT_BUF_GATE, ingot_build_matrix(b, f, e, "blk.%d.ffn_gate.weight", l), NULL);
    ingot_tape_product(b, INGOT_BUF_UP, ingot_build_matrix(b, f, e, "blk.%d.ffn_up.weight", l), NULL);
    ingot_tape_glu(b, INGOT_BUF_GATE, INGOT_BUF_UP, f, INGOT_ACT_GELU_TANH);
    ingot_tape_linear(b, INGOT_BUF_GATE, f);
    ingot_tape_product(b, INGOT_BUF_TMP, ingot_build_matrix(b, e, f, "blk.%d.ffn_down.weight", l), NULL);
    ingot_tape_norm(b, INGOT_BUF_TMP, INGOT_BUF_TMP, ingot_build_vector(b, e, "blk.%d.post_ffw_norm.weight", l), 1, e, eps);
    ingot_tape_add(b, INGOT_BUF_X, INGOT_BUF_TMP, e);
}

static ingot_status build(ingot_model_build *b) {
    const float eps = ingot_build_geometry(b);
    if (ingot_build_float_or(b, "final_logit_softcapping", 0.0f) != 0.0f) ingot_build_fail(b, INGOT_E_UNSUPPORTED, "gemma3.final_logit_softcapping is set: soft-capped logits are not supported");
    mark_sliding(b);
    const int global = ingot_build_rope(b, (double)ingot_build_float_or(b, "rope.freq_base", 1e6f), true, true);
    const int local = ingot_build_rope(b, (double)ingot_build_float_or(b, "rope.freq_base_swa", 1e4f), true, false);
    const ingot_model_info *i = &b->model->info;
    const ingot_gguf_tensor *embedding = ingot_build_matrix(b, i->n_vocab, i->n_embd, "token_embd.weight");

    ingot_tape_embed(b, INGOT_BUF_X, embedding, sqrtf((float)i->n_embd));
    for (int l = 0; b->status == INGOT_OK && l < i->n_layers; l++) {
        /* The 27B model scales by the model width over its heads, all others by the head size. */
        if (i->n_layers == LAYERS_27B) b->model->layers[l].scale = 1.0f / sqrtf((float)i->n_embd / (float)i->n_heads);
        attention(b, l, eps, b->model->layers[l].sliding_window ? local : global);
        feed_forward(b, l, eps);
    }
    ingot_tape_head(b, ingot_build_vector(b, i->n_embd, "output_norm.weight"), eps, embedding);
    return b->status;
}

const ingot_arch ingot_arch_gemma3 = {"gemma3", build};
