/* Builds small GGUF files in memory, right or wrong ones: it writes what it is told and checks nothing. */
#ifndef INGOT_TEST_GGUF_BUILD_H
#define INGOT_TEST_GGUF_BUILD_H
#include "gguf/gguf.h"
#include "gguf/wtype.h"

typedef struct gguf_build {
    uint8_t p[4096];
    size_t n;
} gguf_build;

void build_raw(gguf_build *b, const void *p, size_t n);
void build_u8(gguf_build *b, uint8_t v);
void build_u16(gguf_build *b, uint16_t v);
void build_u32(gguf_build *b, uint32_t v);
void build_u64(gguf_build *b, uint64_t v);
void build_f32(gguf_build *b, float v);
void build_str(gguf_build *b, const char *s);
/* Magic, version and counts; starts anew. */
void build_header(gguf_build *b, uint32_t version, uint64_t n_tensors, uint64_t n_kv);
/* A key and its type; the value follows. */
void build_key(gguf_build *b, const char *key, uint32_t type);
void build_key_u16(gguf_build *b, const char *key, uint16_t v);
void build_key_u32(gguf_build *b, const char *key, uint32_t v);
void build_key_i32(gguf_build *b, const char *key, int32_t v);
void build_key_f32(gguf_build *b, const char *key, float v);
void build_key_bool(gguf_build *b, const char *key, uint8_t v);
void build_key_str(gguf_build *b, const char *key, const char *v);
/* A key with an array; the elements follow. */
void build_key_array(gguf_build *b, const char *key, uint32_t type, uint64_t count);
/* The description of a tensor with up to two dimensions (d1 0: one). */
void build_tensor(gguf_build *b, const char *name, uint64_t d0, uint64_t d1, uint32_t type, uint64_t offset);
/* Zeros up to a multiple of `alignment`, then `n` bytes 0, 1, 2, ... */
void build_data(gguf_build *b, size_t alignment, size_t n);

/* Opens the image from a block of exactly its size, so that a sanitizer sees a read behind it. The block is *image, to be freed
 * with free() after closing. */
ingot_status build_open(ingot_gguf **g, const gguf_build *b, void **image);
/* The image must be refused with `status` and a message that contains `part`. */
void build_check_refused(const gguf_build *b, ingot_status status, const char *part);
/* Reads all that an opened file offers. */
void build_read_all(const ingot_gguf *g);
#endif
