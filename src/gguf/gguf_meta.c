#include "gguf_meta.h"
#include "gguf_grow.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <inttypes.h>
#include <limits.h>

/* Limit of the GGUF specification. */
enum { MAX_KEY_BYTES = 65535 };
/* The shortest key: length, one letter, type, one byte of value. */
enum { MIN_KV_BYTES = 8 + 1 + 4 + 1 };

size_t gguf_type_bytes(ingot_gguf_type type) {
    static const uint8_t bytes[] = {
        [INGOT_GGUF_U8] = 1, [INGOT_GGUF_I8] = 1, [INGOT_GGUF_U16] = 2, [INGOT_GGUF_I16] = 2, [INGOT_GGUF_U32] = 4,
        [INGOT_GGUF_I32] = 4, [INGOT_GGUF_F32] = 4, [INGOT_GGUF_BOOL] = 1, [INGOT_GGUF_STRING] = 0, [INGOT_GGUF_ARRAY] = 0,
        [INGOT_GGUF_U64] = 8, [INGOT_GGUF_I64] = 8, [INGOT_GGUF_F64] = 8,
    };
    return bytes[type];
}

static ingot_status take_type(gguf_cursor *c, const char *what, ingot_gguf_type *type) {
    uint32_t v;
    INGOT_TRY(gguf_take_u32(c, what, &v));
    if (v > INGOT_GGUF_F64) return ingot_fail(INGOT_E_FORMAT, "%s is %" PRIu32 ", which is no GGUF value type", what, v);
    *type = (ingot_gguf_type)v;
    return INGOT_OK;
}

static ingot_status take_array(gguf_cursor *c, gguf_kv *kv) {
    const uint8_t *p;
    INGOT_TRY(take_type(c, "the element type", &kv->elements));
    if (kv->elements == INGOT_GGUF_ARRAY) return ingot_fail(INGOT_E_UNSUPPORTED, "arrays of arrays are not supported");
    INGOT_TRY(gguf_take_u64(c, "the element count", &kv->count));
    const bool strings = kv->elements == INGOT_GGUF_STRING;
    const uint64_t least = strings ? 8 : gguf_type_bytes(kv->elements);
    if (kv->count > gguf_left(c) / least)
        return ingot_fail(INGOT_E_FORMAT, "an array of %" PRIu64 " elements of at least %" PRIu64 " bytes does not fit into the %"
                          PRIu64 " bytes that are left: garbled or truncated", kv->count, least, gguf_left(c));
    kv->p = c->base + c->pos;
    if (!strings) return gguf_take(c, kv->count * least, "the array", &p);
    for (uint64_t i = 0; i < kv->count; i++) {
        ingot_str s;
        INGOT_TRY(gguf_take_str(c, "a string of the array", &s));
    }
    return INGOT_OK;
}

static ingot_status take_value(gguf_cursor *c, gguf_kv *kv) {
    ingot_str s;
    INGOT_TRY(take_type(c, "the value type", &kv->type));
    if (kv->type == INGOT_GGUF_ARRAY) return take_array(c, kv);
    kv->elements = kv->type;
    kv->count = 1;
    kv->p = c->base + c->pos;
    if (kv->type == INGOT_GGUF_STRING) return gguf_take_str(c, "the string", &s);
    return gguf_take(c, gguf_type_bytes(kv->type), "the value", &kv->p);
}

static ingot_status take_kv(gguf_cursor *c, gguf_kv *kv) {
    char text[80];
    INGOT_TRY(gguf_take_str(c, "its name", &kv->key));
    if (kv->key.n == 0) return ingot_fail(INGOT_E_FORMAT, "its name is empty");
    if (kv->key.n > MAX_KEY_BYTES)
        return ingot_fail(INGOT_E_FORMAT, "its name has %zu bytes, more than %d", kv->key.n, MAX_KEY_BYTES);
    const ingot_status s = take_value(c, kv);
    return s ? ingot_fail_prefix(s, "\"%s\"", gguf_printable(text, sizeof text, kv->key)) : INGOT_OK;
}

static ingot_status add_kv(gguf_meta *meta, gguf_cursor *c) {
    gguf_kv *grown = gguf_grow(meta->kv, &meta->capacity, meta->n + 1, sizeof *grown);
    if (!grown) return ingot_fail(INGOT_E_NOMEM, "no memory for the table of keys");
    meta->kv = grown;
    return take_kv(c, &meta->kv[meta->n++]);
}

static ingot_status build_index(gguf_meta *meta) {
    char text[80];
    meta->index = ingot_alloc_array((size_t)meta->n, sizeof *meta->index, INGOT_MEM_OTHER);
    if (!meta->index) return ingot_fail(INGOT_E_NOMEM, "no memory for the names of %d keys", meta->n);
    for (int i = 0; i < meta->n; i++) meta->index[i] = (gguf_entry){meta->kv[i].key, i};
    gguf_index_sort(meta->index, meta->n);
    const gguf_entry *twice = gguf_index_duplicate(meta->index, meta->n);
    if (twice) return ingot_fail(INGOT_E_FORMAT, "the key \"%s\" is there twice", gguf_printable(text, sizeof text, twice->name));
    return INGOT_OK;
}

ingot_status gguf_meta_parse(gguf_meta *meta, gguf_cursor *c, uint64_t count) {
    *meta = (gguf_meta){0};
    if (count > gguf_left(c) / MIN_KV_BYTES || count > INT_MAX)
        return ingot_fail(INGOT_E_FORMAT, "the header claims %" PRIu64 " keys, but the %" PRIu64 " bytes behind it hold %" PRIu64
                          " at most: garbled or truncated", count, gguf_left(c), gguf_left(c) / MIN_KV_BYTES);
    for (uint64_t i = 0; i < count; i++) {
        const ingot_status s = add_kv(meta, c);
        if (s) return ingot_fail_prefix(s, "key %" PRIu64 " of %" PRIu64, i + 1, count);
    }
    return build_index(meta);
}

void gguf_meta_free(gguf_meta *meta) {
    ingot_dealloc(meta->kv);
    ingot_dealloc(meta->index);
    *meta = (gguf_meta){0};
}

const gguf_kv *gguf_meta_find(const gguf_meta *meta, const char *key) {
    const int i = gguf_index_find(meta->index, meta->n, key);
    return i < 0 ? NULL : &meta->kv[i];
}
