/* Tensors of the file, with their shapes checked. */
#include "model_build.h"
#include "../base/alloc.h"
#include "../gguf/wtype.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define NAME_BYTES 96

static const ingot_gguf_tensor *find(const ingot_model_build *b, char name[NAME_BYTES], const char *fmt, va_list ap) {
    vsnprintf(name, NAME_BYTES, fmt, ap);
    return ingot_gguf_tensor_find(b->gguf, name);
}

/* "[a, b]" in the file's order, dims[0] first. */
static void shape_text(const ingot_gguf_tensor *t, char *buf, size_t cap) {
    size_t at = 0;
    for (int i = 0; i < t->n_dims && i < 4; i++) {
        const int n = snprintf(buf + at, cap - at, "%s%" PRIu64, i ? ", " : "[", t->dims[i]);
        if (n < 0 || (size_t)n >= cap - at) return;
        at += (size_t)n;
    }
    snprintf(buf + at, cap - at, "]");
}

static bool check_shape(ingot_model_build *b, const ingot_gguf_tensor *t, int n_in, int n_out) {
    const ingot_wtype_info *w = ingot_wtype_get(t->type);
    if (!w) {
        ingot_build_fail(b, INGOT_E_UNSUPPORTED, "tensor %s has type %s (%u), which this build cannot read", t->cname, ingot_wtype_any_name(t->type), t->type);
        return false;
    }
    if (t->dims[0] == (uint64_t)n_in && t->dims[1] == (uint64_t)n_out && t->dims[2] == 1 && t->dims[3] == 1) {
        if (n_in % w->block == 0) return true;
        ingot_build_fail(b, INGOT_E_FORMAT, "tensor %s of type %s has rows of %d elements, must be a multiple of %d", t->cname, w->name, n_in, w->block);
        return false;
    }
    char found[100] = "";
    shape_text(t, found, sizeof found);
    if (n_out == 1) ingot_build_fail(b, INGOT_E_FORMAT, "tensor %s has shape %s, wanted [%d]", t->cname, found, n_in);
    else ingot_build_fail(b, INGOT_E_FORMAT, "tensor %s has shape %s, wanted [%d, %d]", t->cname, found, n_in, n_out);
    return false;
}

bool ingot_build_has(const ingot_model_build *b, const char *fmt, ...) {
    char name[NAME_BYTES];
    va_list ap;
    va_start(ap, fmt);
    const ingot_gguf_tensor *t = find(b, name, fmt, ap);
    va_end(ap);
    return t != NULL;
}

/* Converted to f32 and owned by the model. */
static const float *bind_vector(ingot_model_build *b, const ingot_gguf_tensor *t, int dim) {
    ingot_model *m = b->model;
    if (!check_shape(b, t, dim, 1)) return NULL;
    if (m->n_vectors == m->cap_vectors) {
        const int cap = m->cap_vectors ? 2 * m->cap_vectors : 64;
        float **grown = ingot_realloc(m->vectors, (size_t)cap * sizeof *grown, INGOT_MEM_OTHER);
        if (!grown) {
            ingot_build_fail(b, INGOT_E_NOMEM, "out of memory at tensor %s", t->cname);
            return NULL;
        }
        m->vectors = grown;
        m->cap_vectors = cap;
    }
    float *x = ingot_alloc_array((size_t)dim, sizeof *x, INGOT_MEM_WEIGHTS);
    if (!x) {
        ingot_build_fail(b, INGOT_E_NOMEM, "out of memory at tensor %s", t->cname);
        return NULL;
    }
    ingot_wtype_get(t->type)->decode(t->data, dim, x);
    m->vectors[m->n_vectors++] = x;
    return x;
}

static const float *vector(ingot_model_build *b, int dim, bool required, const char *fmt, va_list ap) {
    if (b->status != INGOT_OK) return NULL;
    char name[NAME_BYTES];
    const ingot_gguf_tensor *t = find(b, name, fmt, ap);
    if (t) return bind_vector(b, t, dim);
    if (required) ingot_build_fail(b, INGOT_E_FORMAT, "the model file has no tensor %s, wanted with shape [%d]", name, dim);
    return NULL;
}

const float *ingot_build_vector(ingot_model_build *b, int dim, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const float *x = vector(b, dim, true, fmt, ap);
    va_end(ap);
    return x;
}

const float *ingot_build_vector_or_null(ingot_model_build *b, int dim, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const float *x = vector(b, dim, false, fmt, ap);
    va_end(ap);
    return x;
}

const ingot_gguf_tensor *ingot_build_matrix(ingot_model_build *b, int n_out, int n_in, const char *fmt, ...) {
    if (b->status != INGOT_OK) return NULL;
    char name[NAME_BYTES];
    va_list ap;
    va_start(ap, fmt);
    const ingot_gguf_tensor *t = find(b, name, fmt, ap);
    va_end(ap);
    if (!t) {
        ingot_build_fail(b, INGOT_E_FORMAT, "the model file has no tensor %s, wanted with shape [%d, %d]", name, n_in, n_out);
        return NULL;
    }
    return check_shape(b, t, n_in, n_out) ? t : NULL;
}
