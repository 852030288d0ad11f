#include "output_moment.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../gguf/wtype.h"
#include "model.h"
#include <string.h>

/* The product that reads the attention of `layer`, and the weights of the norm behind it (NULL when there is none). */
static const ingot_gguf_tensor *find_projection(const ingot_model *m, int layer, const float **norm) {
    bool found = false;
    *norm = NULL;
    for (int i = 0; i < m->n_ops; i++) {
        const ingot_op *op = &m->tape[i], *next = i + 1 < m->n_ops ? op + 1 : NULL;
        if (op->kind == INGOT_OP_ATTEND) found = op->layer == layer;
        if (!found || op->kind != INGOT_OP_LINEAR || op->src != INGOT_BUF_ATT) continue;
        if (next && next->kind == INGOT_OP_RMSNORM && next->src == op->lin[0].dst && next->heads == 1) *norm = next->w;
        return m->weights[op->lin[0].weight].tensor;
    }
    return NULL;
}

/* m [dim][dim] += weight * x x^T; the upper triangle. */
static void add_outer(double *m, const float *x, int dim, double weight) {
    for (int i = 0; i < dim; i++) {
        const double a = weight * (double)x[i];
        for (int j = i; j < dim; j++) m[i * dim + j] += a * (double)x[j];
    }
}

static void mirror(double *m, int dim) {
    for (int i = 0; i < dim; i++)
        for (int j = i + 1; j < dim; j++) m[j * dim + i] = m[i * dim + j];
}

ingot_status ingot_model_output_moment(const ingot_model *model, int layer, double *moment) {
    const ingot_layer_shape *s = &model->layers[layer];
    const int dim = s->v_dim, width = s->n_heads * dim, group = s->n_heads / s->n_kv_heads;
    const float *norm;
    const ingot_gguf_tensor *t = find_projection(model, layer, &norm);
    if (!t || t->dims[0] != (uint64_t)width) return ingot_fail(INGOT_E_UNSUPPORTED, "layer %d has no output projection of %d inputs", layer, width);
    const ingot_wtype_info *type = ingot_wtype_get(t->type);
    const size_t row_bytes = (size_t)(width / type->block) * (size_t)type->block_bytes, square = (size_t)dim * (size_t)dim;
    float *row = ingot_alloc_array((size_t)width, sizeof *row, INGOT_MEM_SCRATCH);
    if (!row) return ingot_fail(INGOT_E_NOMEM, "out of memory for a row of the output projection");
    memset(moment, 0, (size_t)s->n_kv_heads * square * sizeof *moment);
    for (size_t r = 0; r < t->dims[1]; r++) {
        type->decode((const uint8_t *)t->data + r * row_bytes, width, row);
        const double weight = norm ? (double)norm[r] * (double)norm[r] : 1.0;
        for (int h = 0; h < s->n_heads; h++) add_outer(moment + (size_t)(h / group) * square, row + (ptrdiff_t)h * dim, dim, weight);
    }
    for (int h = 0; h < s->n_kv_heads; h++) mirror(moment + (size_t)h * square, dim);
    ingot_dealloc(row);
    return INGOT_OK;
}
