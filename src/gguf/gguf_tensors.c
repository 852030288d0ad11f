#include "gguf_tensors.h"
#include "gguf_grow.h"
#include "../base/alloc.h"
#include "../base/checked.h"
#include "../base/error.h"
#include "wtype.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The shortest description: name length, one letter, n_dims, one dimension, type, offset. */
enum { MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8 };

static ingot_status take_dims(gguf_cursor *c, ingot_gguf_tensor *t) {
    uint32_t n_dims;
    INGOT_TRY(gguf_take_u32(c, "the number of dimensions", &n_dims));
    if (n_dims < 1 || n_dims > 4) return ingot_fail(INGOT_E_FORMAT, "it has %" PRIu32 " dimensions, 1 to 4 are possible", n_dims);
    t->n_dims = (int)n_dims;
    for (uint32_t i = 0; i < 4; i++) {
        t->dims[i] = 1;
        if (i < n_dims) INGOT_TRY(gguf_take_u64(c, "a dimension", &t->dims[i]));
        if (t->dims[i] < 1 || t->dims[i] > INT_MAX)
            return ingot_fail(INGOT_E_FORMAT, "dimension %" PRIu32 " is %" PRIu64 ", 1 to %d are possible", i, t->dims[i], INT_MAX);
    }
    return INGOT_OK;
}

static ingot_status take_wtype(gguf_cursor *c, ingot_gguf_tensor *t) {
    INGOT_TRY(gguf_take_u32(c, "the type", &t->type));
    const ingot_wtype_info *w = ingot_wtype_get(t->type);
    if (w) return INGOT_OK;
    const char *name = ingot_wtype_any_name(t->type);
    if (ingot_wtype_is_removed(t->type))
        return ingot_fail(INGOT_E_UNSUPPORTED, "it has type %s (%" PRIu32 "), which was removed from ggml: convert the model anew",
                          name, t->type);
    if (strcmp(name, "unknown") == 0) return ingot_fail(INGOT_E_FORMAT, "it has type %" PRIu32 ", which is unknown", t->type);
    return ingot_fail(INGOT_E_UNSUPPORTED, "it has type %s (%" PRIu32 "), which is not supported", name, t->type);
}

/* Bytes from dimensions and type; the product may claim anything. */
static ingot_status tensor_bytes(ingot_gguf_tensor *t) {
    const ingot_wtype_info *w = ingot_wtype_get(t->type);
    const uint64_t *d = t->dims;
    if (d[0] % (uint64_t)w->block)
        return ingot_fail(INGOT_E_FORMAT, "its rows of %" PRIu64 " elements are no multiple of the %s block of %d", d[0], w->name, w->block);
    uint64_t bytes = d[0] / (uint64_t)w->block;
    bool fits = ingot_mul_u64(bytes, (uint64_t)w->block_bytes, &bytes);
    for (int i = 1; i < 4; i++) fits = fits && ingot_mul_u64(bytes, d[i], &bytes);
    if (!fits || bytes > INT64_MAX)
        return ingot_fail(INGOT_E_FORMAT, "%" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64 " elements of type %s are more than any file holds",
                          d[0], d[1], d[2], d[3], w->name);
    t->bytes = bytes;
    return INGOT_OK;
}

static ingot_status take_shape(gguf_cursor *c, ingot_gguf_tensor *t, uint64_t *offset) {
    INGOT_TRY(take_dims(c, t));
    INGOT_TRY(take_wtype(c, t));
    INGOT_TRY(tensor_bytes(t));
    return gguf_take_u64(c, "the offset", offset);
}

static ingot_status take_tensor(gguf_cursor *c, ingot_gguf_tensor *t, uint64_t *offset) {
    INGOT_TRY(gguf_take_str(c, "its name", &t->name));
    if (t->name.n == 0) return ingot_fail(INGOT_E_FORMAT, "its name is empty");
    gguf_printable(t->cname, sizeof t->cname, t->name);
    const ingot_status s = take_shape(c, t, offset);
    return s ? ingot_fail_prefix(s, "\"%s\"", t->cname) : INGOT_OK;
}

/* Where tensors lie, while they are placed. */
typedef struct span { uint64_t offset, end; int at; } span;
typedef struct spans { span *s; int n, capacity; } spans;

static int compare_spans(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Overlap would let a small file claim any amount of weights. */
static ingot_status check_overlap(const gguf_tensors *table, spans *where) {
    span *s = where->s;
    if (where->n > 1) qsort(s, (size_t)where->n, sizeof *s, compare_spans);
    for (int i = 1; i < where->n; i++)
        if (s[i].offset < s[i - 1].end)
            return ingot_fail(INGOT_E_FORMAT, "tensor \"%s\" at offset %" PRIu64 " overlaps \"%s\", which ends at %" PRIu64,
                              table->t[s[i].at].cname, s[i].offset, table->t[s[i - 1].at].cname, s[i - 1].end);
    return INGOT_OK;
}

/* Turns offsets into addresses; the data section begins at `start` of the file. */
static ingot_status place(gguf_tensors *table, const gguf_cursor *c, uint64_t start, uint32_t alignment, spans *where) {
    const uint64_t data_bytes = start < c->size ? c->size - start : 0;
    for (int i = 0; i < where->n; i++) {
        span *s = &where->s[i];
        ingot_gguf_tensor *t = &table->t[s->at];
        if (s->offset % alignment)
            return ingot_fail(INGOT_E_FORMAT, "tensor \"%s\": its offset %" PRIu64 " is no multiple of the alignment %" PRIu32,
                              t->cname, s->offset, alignment);
        if (s->offset > data_bytes || t->bytes > data_bytes - s->offset)
            return ingot_fail(INGOT_E_FORMAT, "tensor \"%s\": its %" PRIu64 " bytes at offset %" PRIu64 " end behind the %" PRIu64
                              " bytes of data in the file: truncated or garbled", t->cname, t->bytes, s->offset, data_bytes);
        s->end = s->offset + t->bytes;
        t->data = c->base + start + s->offset;
    }
    return check_overlap(table, where);
}

/* Adds the next description to the table, its offset to the spans. */
static ingot_status add_tensor(gguf_tensors *table, gguf_cursor *c, spans *where) {
    ingot_gguf_tensor *grown = gguf_grow(table->t, &table->capacity, table->n + 1, sizeof *grown);
    if (grown) table->t = grown;
    span *wider = gguf_grow(where->s, &where->capacity, where->n + 1, sizeof *wider);
    if (wider) where->s = wider;
    if (!grown || !wider) return ingot_fail(INGOT_E_NOMEM, "no memory for the table of tensors");
    where->s[where->n] = (span){.at = table->n};
    return take_tensor(c, &table->t[table->n++], &where->s[where->n++].offset);
}

static ingot_status parse(gguf_tensors *table, gguf_cursor *c, uint64_t count, uint32_t alignment, spans *where) {
    for (uint64_t i = 0; i < count; i++) {
        const ingot_status s = add_tensor(table, c, where);
        if (s) return ingot_fail_prefix(s, "tensor %" PRIu64 " of %" PRIu64, i + 1, count);
    }
    const uint64_t start = (c->pos + (alignment - 1)) & ~(uint64_t)(alignment - 1); /* pos is a file size: no wrap */
    return place(table, c, start, alignment, where);
}

ingot_status gguf_tensors_parse(gguf_tensors *table, gguf_cursor *c, uint64_t count, uint32_t alignment) {
    if (count > gguf_left(c) / MIN_TENSOR_BYTES || count > (uint64_t)(INT_MAX - table->n))
        return ingot_fail(INGOT_E_FORMAT, "the header claims %" PRIu64 " tensors, but the %" PRIu64 " bytes behind the keys hold %" PRIu64
                          " at most: garbled or truncated", count, gguf_left(c), gguf_left(c) / MIN_TENSOR_BYTES);
    spans where = {0};
    const ingot_status s = parse(table, c, count, alignment, &where);
    ingot_dealloc(where.s);
    return s;
}

ingot_status gguf_tensors_index(gguf_tensors *table, const ingot_gguf_tensor **second) {
    table->index = ingot_alloc_array((size_t)table->n, sizeof *table->index, INGOT_MEM_OTHER);
    if (!table->index) return ingot_fail(INGOT_E_NOMEM, "no memory for %d tensor names", table->n);
    for (int i = 0; i < table->n; i++) table->index[i] = (gguf_entry){table->t[i].name, i};
    gguf_index_sort(table->index, table->n);
    const gguf_entry *twice = gguf_index_duplicate(table->index, table->n);
    if (!twice) return INGOT_OK;
    *second = &table->t[twice->at];
    return ingot_fail(INGOT_E_FORMAT, "the tensor \"%s\" is there twice", (*second)->cname);
}

void gguf_tensors_free(gguf_tensors *table) {
    ingot_dealloc(table->t);
    ingot_dealloc(table->index);
    *table = (gguf_tensors){0};
}
