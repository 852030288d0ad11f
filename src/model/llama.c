/* Llama and its relatives: pre-norm decoder, grouped-query attention, RoPE on neighbouring pairs (the converter to GGUF permutes
 * the rows of q and k for that), SwiGLU, output tied to the embedding or separate. Source: Touvron et al., "LLaMA"
 * (arXiv 2302.13971); Llama 3.1's frequency factors come as tensor rope_freqs.weight. */
#include "model_build.h"
#include <limits.h>

static void layer(ingot_model_build *b, int l, float eps, int rope) {
    const ingot_model_info *i = &b->model->info;
    const int q = i->n_heads * i->k_dim, k = i->n_kv_heads * i->k_dim, v = i->n_kv_heads * i->v_dim, att = i->n_heads * i->v_dim, e = i->n_embd;

    ingot_tape_norm(b, INGOT_BUF_NORM, INGOT_BUF_X, ingot_build_vector(b, e, "blk.%d.attn_norm.weight", l), 1, e, eps);
    ingot_tape_linear(b, INGOT_BUF_NORM, e);
    ingot_tape_product(b, INGOT_BUF_Q, ingot_build_matrix(b, q, e, "blk.%d.attn_q.weight", l), ingot_build_vector_or_null(b, q, "blk.%d.attn_q.bias", l));
    ingot_tape_product(b, INGOT_BUF_K, ingot_build_matrix(b, k, e, "blk.%d.attn_k.weight", l), ingot_build_vector_or_null(b, k, "blk.%d.attn_k.bias", l));
    ingot_tape_product(b, INGOT_BUF_V, ingot_build_matrix(b, v, e, "blk.%d.attn_v.weight", l), ingot_build_vector_or_null(b, v, "blk.%d.attn_v.bias", l));
    ingot_tape_rope(b, INGOT_BUF_Q, i->n_heads, i->k_dim, rope);
    ingot_tape_rope(b, INGOT_BUF_K, i->n_kv_heads, i->k_dim, rope);
    ingot_tape_attend(b, l);
    ingot_tape_linear(b, INGOT_BUF_ATT, att);
    ingot_tape_product(b, INGOT_BUF_TMP, ingot_build_matrix(b, e, att, "blk.%d.attn_output.weight", l), ingot_build_vector_or_null(b, e, "blk.%d.attn_output.bias", l));
    ingot_tape_add(b, INGOT_BUF_X, INGOT_BUF_TMP, e);

    ingot_tape_norm(b, INGOT_BUF_NORM, INGOT_BUF_X, ingot_build_vector(b, e, "blk.%d.ffn_norm.weight", l), 1, e, eps);
    ingot_tape_linear(b, INGOT_BUF_NORM, e);
    ingot_tape_product(b, INGOT_BUF_GATE, ingot_build_matrix(b, i->n_ff, e, "blk.%d.ffn_gate.weight", l), ingot_build_vector_or_null(b, i->n_ff, "blk.%d.ffn_gate.bias", l));
    ingot_tape_product(b, INGOT_BUF_UP, ingot_build_matrix(b, i->n_ff, e, "blk.%d.ffn_up.weight", l), ingot_build_vector_or_null(b, i->n_ff, "blk.%d.ffn_up.bias", l));
    ingot_tape_glu(b, INGOT_BUF_GATE, INGOT_BUF_UP, i->n_ff, INGOT_ACT_SILU);
    ingot_tape_linear(b, INGOT_BUF_GATE, i->n_ff);
    ingot_tape_product(b, INGOT_BUF_TMP, ingot_build_matrix(b, e, i->n_ff, "blk.%d.ffn_down.weight", l), ingot_build_vector_or_null(b, e, "blk.%d.ffn_down.bias", l));
    ingot_tape_add(b, INGOT_BUF_X, INGOT_BUF_TMP, e);
}

static ingot_status build(ingot_model_build *b) {
    const float eps = ingot_build_geometry(b);
    const int experts = ingot_build_int_or(b, "expert_count", 0, INT_MAX, 0);
    if (experts > 0) ingot_build_fail(b, INGOT_E_UNSUPPORTED, "llama.expert_count is %d: mixtures of experts are not supported", experts);
    const float scale = ingot_build_float_or(b, "attention.scale", 0.0f);
    const int rope = ingot_build_rope(b, (double)ingot_build_float_or(b, "rope.freq_base", 10000.0f), false, true);
    const ingot_model_info *i = &b->model->info;
    const ingot_gguf_tensor *embedding = ingot_build_matrix(b, i->n_vocab, i->n_embd, "token_embd.weight");

    ingot_tape_embed(b, INGOT_BUF_X, embedding, 1.0f);
    for (int l = 0; b->status == INGOT_OK && l < i->n_layers; l++) {
        if (scale != 0.0f) b->model->layers[l].scale = scale;
        layer(b, l, eps, rope);
    }
    ingot_tape_head(b, ingot_build_vector(b, i->n_embd, "output_norm.weight"), eps, embedding);
    return b->status;
}

const ingot_arch ingot_arch_llama = {"llama", build};
