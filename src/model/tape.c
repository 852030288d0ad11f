/* Laying down the tape: each function appends one operation and widens the buffers that it touches. */
#include "model_build.h"
#include "../base/alloc.h"

static void widen(ingot_model *m, ingot_buf buf, int width) {
    if (m->width[buf] < width) m->width[buf] = width;
}

/* The new operation, or NULL after a failure. */
static ingot_op *push(ingot_model_build *b, ingot_op op) {
    ingot_model *m = b->model;
    if (b->status != INGOT_OK) return NULL;
    if (m->n_ops == m->cap_ops) {
        const int cap = m->cap_ops ? 2 * m->cap_ops : 256;
        ingot_op *grown = ingot_realloc(m->tape, (size_t)cap * sizeof *grown, INGOT_MEM_OTHER);
        if (!grown) {
            ingot_build_fail(b, INGOT_E_NOMEM, "out of memory for the tape of layer operations");
            return NULL;
        }
        m->tape = grown;
        m->cap_ops = cap;
    }
    m->tape[m->n_ops] = op;
    return &m->tape[m->n_ops++];
}

void ingot_tape_embed(ingot_model_build *b, ingot_buf dst, const ingot_gguf_tensor *table, float scale) {
    const int dim = b->model->info.n_embd;
    widen(b->model, dst, dim);
    push(b, (ingot_op){.kind = INGOT_OP_EMBED, .dst = dst, .src = dst, .dim = dim, .heads = 1, .value = scale, .table = table});
}

void ingot_tape_norm(ingot_model_build *b, ingot_buf dst, ingot_buf src, const float *w, int heads, int dim, float eps) {
    widen(b->model, dst, heads * dim);
    push(b, (ingot_op){.kind = INGOT_OP_RMSNORM, .dst = dst, .src = src, .w = w, .heads = heads, .dim = dim, .value = eps});
}

void ingot_tape_linear(ingot_model_build *b, ingot_buf src, int n_in) {
    push(b, (ingot_op){.kind = INGOT_OP_LINEAR, .dst = src, .src = src, .heads = 1, .n_in = n_in});
}

/* Index of a new weight, -1 after a failure. */
static int add_weight(ingot_model_build *b, const ingot_gguf_tensor *t) {
    ingot_model *m = b->model;
    if (m->n_weights == m->cap_weights) {
        const int cap = m->cap_weights ? 2 * m->cap_weights : 256;
        ingot_model_weight *grown = ingot_realloc(m->weights, (size_t)cap * sizeof *grown, INGOT_MEM_OTHER);
        if (!grown) {
            ingot_build_fail(b, INGOT_E_NOMEM, "out of memory for the list of weights");
            return -1;
        }
        m->weights = grown;
        m->cap_weights = cap;
    }
    m->weights[m->n_weights] = (ingot_model_weight){.tensor = t};
    return m->n_weights++;
}

void ingot_tape_product(ingot_model_build *b, ingot_buf dst, const ingot_gguf_tensor *w, const float *bias) {
    if (b->status != INGOT_OK) return;
    ingot_op *op = &b->model->tape[b->model->n_ops - 1];
    if (op->n_lin == 3) {
        ingot_build_fail(b, INGOT_E_UNSUPPORTED, "tensor %s: more than 3 products share one input", w->cname);
        return;
    }
    const int weight = add_weight(b, w);
    if (weight < 0) return;
    const int n_out = (int)w->dims[1]; /* checked by ingot_build_matrix against an int */
    widen(b->model, dst, n_out);
    op->lin[op->n_lin++] = (ingot_op_linear){.dst = dst, .weight = weight, .bias = bias, .n_out = n_out};
}

void ingot_tape_rope(ingot_model_build *b, ingot_buf x, int heads, int dim, int rope) {
    push(b, (ingot_op){.kind = INGOT_OP_ROPE, .dst = x, .src = x, .heads = heads, .dim = dim, .rope = rope});
}

/* Whether the keys in front of the tape's end were rotated in pairs (2j, 2j + 1). */
static bool has_adjacent_pairs(const ingot_model *m) {
    for (int i = m->n_ops; i-- > 0 && m->tape[i].kind != INGOT_OP_ATTEND;)
        if (m->tape[i].kind == INGOT_OP_ROPE && m->tape[i].dst == INGOT_BUF_K) return !m->ropes[m->tape[i].rope].neox;
    return false;
}

void ingot_tape_attend(ingot_model_build *b, int layer) {
    if (b->status != INGOT_OK) return;
    ingot_layer_shape *s = &b->model->layers[layer];
    s->adjacent_pairs = has_adjacent_pairs(b->model);
    widen(b->model, INGOT_BUF_ATT, s->n_heads * s->v_dim);
    push(b, (ingot_op){.kind = INGOT_OP_ATTEND, .dst = INGOT_BUF_ATT, .src = INGOT_BUF_Q, .layer = layer, .heads = 1});
}

void ingot_tape_glu(ingot_model_build *b, ingot_buf gate, ingot_buf up, int dim, ingot_act act) {
    push(b, (ingot_op){.kind = INGOT_OP_GLU, .dst = gate, .src = up, .heads = 1, .dim = dim, .act = act});
}

void ingot_tape_add(ingot_model_build *b, ingot_buf dst, ingot_buf src, int dim) {
    push(b, (ingot_op){.kind = INGOT_OP_ADD, .dst = dst, .src = src, .heads = 1, .dim = dim});
}

void ingot_tape_select_rows(ingot_model_build *b, ingot_buf dst, ingot_buf src, int dim) {
    if (b->status != INGOT_OK) return;
    b->model->head_begin = b->model->n_ops;
    widen(b->model, dst, dim);
    push(b, (ingot_op){.kind = INGOT_OP_SELECT_ROWS, .dst = dst, .src = src, .heads = 1, .dim = dim});
}

void ingot_tape_head(ingot_model_build *b, const float *norm, float eps, const ingot_gguf_tensor *embedding) {
    const ingot_model_info *i = &b->model->info;
    const bool tied = !ingot_build_has(b, "output.weight");
    const ingot_gguf_tensor *w = tied ? embedding : ingot_build_matrix(b, i->n_vocab, i->n_embd, "output.weight");
    ingot_tape_select_rows(b, INGOT_BUF_NORM, INGOT_BUF_X, i->n_embd);
    ingot_tape_norm(b, INGOT_BUF_NORM, INGOT_BUF_NORM, norm, 1, i->n_embd, eps);
    ingot_tape_linear(b, INGOT_BUF_NORM, i->n_embd);
    ingot_tape_product(b, INGOT_BUF_LOGITS, w, NULL);
}
