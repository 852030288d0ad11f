/* Typed reads of keys. */
#include "gguf_file.h"
#include "../base/error.h"
#include <inttypes.h>
#include <string.h>

static const char *const type_names[] = {
    [INGOT_GGUF_U8] = "u8", [INGOT_GGUF_I8] = "i8", [INGOT_GGUF_U16] = "u16", [INGOT_GGUF_I16] = "i16", [INGOT_GGUF_U32] = "u32",
    [INGOT_GGUF_I32] = "i32", [INGOT_GGUF_F32] = "f32", [INGOT_GGUF_BOOL] = "bool", [INGOT_GGUF_STRING] = "string",
    [INGOT_GGUF_ARRAY] = "array", [INGOT_GGUF_U64] = "u64", [INGOT_GGUF_I64] = "i64", [INGOT_GGUF_F64] = "f64",
};

static ingot_status wrong_type(const char *key, const gguf_kv *kv, const char *wanted) {
    const bool array = kv->type == INGOT_GGUF_ARRAY;
    return ingot_fail(INGOT_E_FORMAT, "key \"%s\" has the type %s%s, but %s is wanted", key, array ? "array of " : "",
                      type_names[kv->elements], wanted);
}

/* The integer at p, negative ones in two's complement; *negative tells them apart. False for other types. */
static bool load_integer(ingot_gguf_type type, const uint8_t *p, uint64_t *v, bool *negative) {
    int64_t i = 0;
    switch (type) {
    case INGOT_GGUF_U8: i = *p; break;
    case INGOT_GGUF_I8: i = (int8_t)*p; break;
    case INGOT_GGUF_U16: i = ingot_le_u16(p); break;
    case INGOT_GGUF_I16: i = (int16_t)ingot_le_u16(p); break;
    case INGOT_GGUF_U32: i = ingot_le_u32(p); break;
    case INGOT_GGUF_I32: i = (int32_t)ingot_le_u32(p); break;
    case INGOT_GGUF_I64: i = (int64_t)ingot_le_u64(p); break;
    case INGOT_GGUF_U64: *v = ingot_le_u64(p); *negative = false; return true;
    default: return false;
    }
    *v = (uint64_t)i;
    *negative = i < 0;
    return true;
}

static ingot_status out_of_range(const char *key, uint64_t v, bool negative, const char *wanted) {
    return ingot_fail(INGOT_E_FORMAT, "key \"%s\" has the value %s%" PRIu64 ", which does not fit into %s", key, negative ? "-" : "",
                      negative ? 0 - v : v, wanted);
}

/* GGUF has one byte, 0 or 1. */
static ingot_status load_bool(const char *key, const uint8_t *p, bool *v) {
    if (*p > 1) return ingot_fail(INGOT_E_FORMAT, "key \"%s\" has a bool with the value %d, 0 and 1 are possible", key, *p);
    *v = *p == 1;
    return INGOT_OK;
}

static float load_f32(const uint8_t *p) {
    const uint32_t bits = ingot_le_u32(p);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static ingot_str load_str(const uint8_t *p) { return (ingot_str){(const char *)p + 8, (size_t)ingot_le_u64(p)}; }

ingot_status gguf_meta_u32(const gguf_meta *meta, const char *key, uint32_t *v, bool *found) {
    const gguf_kv *kv = gguf_meta_find(meta, key);
    uint64_t value;
    bool negative;
    *found = kv != NULL;
    if (!kv) return INGOT_OK;
    if (!load_integer(kv->type, kv->p, &value, &negative)) return wrong_type(key, kv, "u32");
    if (negative || value > UINT32_MAX) return out_of_range(key, value, negative, "u32");
    *v = (uint32_t)value;
    return INGOT_OK;
}

ingot_status ingot_gguf_get_u32(const ingot_gguf *g, const char *key, uint32_t *v, bool *found) {
    return gguf_meta_u32(&g->meta, key, v, found);
}

/* Finds a key that must have the given type. */
static ingot_status find_typed(const ingot_gguf *g, const char *key, ingot_gguf_type type, const gguf_kv **kv, bool *found) {
    *kv = gguf_meta_find(&g->meta, key);
    *found = *kv != NULL;
    return *kv && (*kv)->type != type ? wrong_type(key, *kv, type_names[type]) : INGOT_OK;
}

ingot_status ingot_gguf_get_f32(const ingot_gguf *g, const char *key, float *v, bool *found) {
    const gguf_kv *kv;
    INGOT_TRY(find_typed(g, key, INGOT_GGUF_F32, &kv, found));
    if (kv) *v = load_f32(kv->p);
    return INGOT_OK;
}

ingot_status ingot_gguf_get_bool(const ingot_gguf *g, const char *key, bool *v, bool *found) {
    const gguf_kv *kv;
    INGOT_TRY(find_typed(g, key, INGOT_GGUF_BOOL, &kv, found));
    return kv ? load_bool(key, kv->p, v) : INGOT_OK;
}

ingot_status ingot_gguf_get_str(const ingot_gguf *g, const char *key, ingot_str *v, bool *found) {
    const gguf_kv *kv;
    INGOT_TRY(find_typed(g, key, INGOT_GGUF_STRING, &kv, found));
    if (kv) *v = load_str(kv->p);
    return INGOT_OK;
}

ingot_status ingot_gguf_get_array(const ingot_gguf *g, const char *key, ingot_gguf_type *type, uint64_t *count, bool *found) {
    const gguf_kv *kv;
    INGOT_TRY(find_typed(g, key, INGOT_GGUF_ARRAY, &kv, found));
    if (!kv) return INGOT_OK;
    *type = kv->elements;
    *count = kv->count;
    return INGOT_OK;
}

/* Finds an array that must be there with at least `count` elements. */
static ingot_status find_array(const ingot_gguf *g, const char *key, uint64_t count, const gguf_kv **kv) {
    bool found;
    INGOT_TRY(find_typed(g, key, INGOT_GGUF_ARRAY, kv, &found));
    if (!found) return ingot_fail(INGOT_E_FORMAT, "the key \"%s\" is missing", key);
    if ((*kv)->count < count)
        return ingot_fail(INGOT_E_FORMAT, "key \"%s\" has %" PRIu64 " elements, but %" PRIu64 " are wanted", key, (*kv)->count, count);
    return INGOT_OK;
}

ingot_status ingot_gguf_array_i32(const ingot_gguf *g, const char *key, int32_t *out, uint64_t count) {
    const gguf_kv *kv;
    INGOT_TRY(find_array(g, key, count, &kv));
    const size_t step = gguf_type_bytes(kv->elements);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t v;
        bool negative;
        if (!load_integer(kv->elements, kv->p + i * step, &v, &negative)) return wrong_type(key, kv, "array of i32");
        if (negative ? (int64_t)v < INT32_MIN : v > INT32_MAX) return out_of_range(key, v, negative, "i32");
        out[i] = (int32_t)(int64_t)v;
    }
    return INGOT_OK;
}

ingot_status ingot_gguf_array_f32(const ingot_gguf *g, const char *key, float *out, uint64_t count) {
    const gguf_kv *kv;
    INGOT_TRY(find_array(g, key, count, &kv));
    if (kv->elements != INGOT_GGUF_F32) return wrong_type(key, kv, "array of f32");
    for (uint64_t i = 0; i < count; i++) out[i] = load_f32(kv->p + 4 * i);
    return INGOT_OK;
}

ingot_status ingot_gguf_array_bool(const ingot_gguf *g, const char *key, bool *out, uint64_t count) {
    const gguf_kv *kv;
    INGOT_TRY(find_array(g, key, count, &kv));
    const size_t step = gguf_type_bytes(kv->elements);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t v;
        bool negative;
        if (kv->elements == INGOT_GGUF_BOOL) INGOT_TRY(load_bool(key, kv->p + i, &out[i]));
        else if (load_integer(kv->elements, kv->p + i * step, &v, &negative)) out[i] = v != 0;
        else return wrong_type(key, kv, "array of bool");
    }
    return INGOT_OK;
}

ingot_status ingot_gguf_array_str(const ingot_gguf *g, const char *key, ingot_str *out, uint64_t count) {
    const gguf_kv *kv;
    INGOT_TRY(find_array(g, key, count, &kv));
    if (kv->elements != INGOT_GGUF_STRING) return wrong_type(key, kv, "array of string");
    const uint8_t *p = kv->p;
    for (uint64_t i = 0; i < count; i++) {
        out[i] = load_str(p);
        p += 8 + out[i].n;
    }
    return INGOT_OK;
}
