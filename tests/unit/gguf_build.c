#include "gguf_build.h"
#include "test.h"
#include <stdlib.h>

void build_raw(gguf_build *b, const void *p, size_t n) {
    if (!CHECK(b->n + n <= sizeof b->p)) return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void build_le(gguf_build *b, uint64_t v, size_t bytes) {
    uint8_t le[8];
    for (size_t i = 0; i < bytes; i++) le[i] = (uint8_t)(v >> 8 * i);
    build_raw(b, le, bytes);
}

void build_u8(gguf_build *b, uint8_t v) { build_le(b, v, 1); }
void build_u16(gguf_build *b, uint16_t v) { build_le(b, v, 2); }
void build_u32(gguf_build *b, uint32_t v) { build_le(b, v, 4); }
void build_u64(gguf_build *b, uint64_t v) { build_le(b, v, 8); }

void build_f32(gguf_build *b, float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    build_u32(b, bits);
}

void build_str(gguf_build *b, const char *s) {
    build_u64(b, strlen(s));
    build_raw(b, s, strlen(s));
}

void build_header(gguf_build *b, uint32_t version, uint64_t n_tensors, uint64_t n_kv) {
    b->n = 0;
    build_raw(b, "GGUF", 4);
    build_u32(b, version);
    build_u64(b, n_tensors);
    build_u64(b, n_kv);
}

void build_key(gguf_build *b, const char *key, uint32_t type) {
    build_str(b, key);
    build_u32(b, type);
}

void build_key_u16(gguf_build *b, const char *key, uint16_t v) {
    build_key(b, key, INGOT_GGUF_U16);
    build_u16(b, v);
}

void build_key_u32(gguf_build *b, const char *key, uint32_t v) {
    build_key(b, key, INGOT_GGUF_U32);
    build_u32(b, v);
}

void build_key_i32(gguf_build *b, const char *key, int32_t v) {
    build_key(b, key, INGOT_GGUF_I32);
    build_u32(b, (uint32_t)v);
}

void build_key_f32(gguf_build *b, const char *key, float v) {
    build_key(b, key, INGOT_GGUF_F32);
    build_f32(b, v);
}

void build_key_bool(gguf_build *b, const char *key, uint8_t v) {
    build_key(b, key, INGOT_GGUF_BOOL);
    build_u8(b, v);
}

void build_key_str(gguf_build *b, const char *key, const char *v) {
    build_key(b, key, INGOT_GGUF_STRING);
    build_str(b, v);
}

void build_key_array(gguf_build *b, const char *key, uint32_t type, uint64_t count) {
    build_key(b, key, INGOT_GGUF_ARRAY);
    build_u32(b, type);
    build_u64(b, count);
}

void build_tensor(gguf_build *b, const char *name, uint64_t d0, uint64_t d1, uint32_t type, uint64_t offset) {
    build_str(b, name);
    build_u32(b, d1 ? 2 : 1);
    build_u64(b, d0);
    if (d1) build_u64(b, d1);
    build_u32(b, type);
    build_u64(b, offset);
}

void build_data(gguf_build *b, size_t alignment, size_t n) {
    while (b->n % alignment) build_u8(b, 0);
    for (size_t i = 0; i < n; i++) build_u8(b, (uint8_t)i);
}

ingot_status build_open(ingot_gguf **g, const gguf_build *b, void **image) {
    *g = NULL;
    *image = malloc(b->n ? b->n : 1);
    if (!CHECK(*image != NULL)) return INGOT_E_NOMEM;
    memcpy(*image, b->p, b->n);
    return ingot_gguf_open_memory(g, *image, b->n);
}

void build_check_refused(const gguf_build *b, ingot_status status, const char *part) {
    ingot_gguf *g;
    void *image;
    CHECK_STATUS(build_open(&g, b, &image), status);
    CHECK_HAS(ingot_last_error(), part);
    CHECK(g == NULL);
    ingot_gguf_close(g);
    free(image);
}

/* Walks every byte, so that a sanitizer sees a range that is not all there. */
static unsigned sum(const void *p, size_t n) {
    unsigned s = 0;
    for (size_t i = 0; i < n; i++) s += ((const uint8_t *)p)[i];
    return s;
}

void build_read_all(const ingot_gguf *g) {
    static float x[256];
    volatile unsigned sink = 0;
    for (int i = 0; i < ingot_gguf_tensor_count(g); i++) {
        const ingot_gguf_tensor *t = ingot_gguf_tensor_at(g, i);
        const ingot_wtype_info *w = ingot_wtype_get(t->type);
        if (!CHECK(w != NULL)) return;
        CHECK(t->bytes >= (uint64_t)w->block_bytes && t->bytes % (uint64_t)w->block_bytes == 0);
        CHECK(t->name.n > 0 && t->n_dims >= 1 && t->n_dims <= 4);
        sink += sum(t->data, t->bytes) + sum(t->name.p, t->name.n);
        w->decode(t->data, w->block, x);
    }
    CHECK(ingot_gguf_tensor_at(g, ingot_gguf_tensor_count(g)) == NULL);
    (void)sink;
}
