/* GGUF v2/v3 files: parse, check, map. Every count, size and offset is checked before it is used. */
#ifndef INGOT_GGUF_H
#define INGOT_GGUF_H
#include <ingot/status.h>
#include <ingot/types.h>

typedef struct ingot_gguf ingot_gguf;

typedef enum ingot_gguf_type {
    INGOT_GGUF_U8, INGOT_GGUF_I8, INGOT_GGUF_U16, INGOT_GGUF_I16, INGOT_GGUF_U32, INGOT_GGUF_I32, INGOT_GGUF_F32, INGOT_GGUF_BOOL,
    INGOT_GGUF_STRING, INGOT_GGUF_ARRAY, INGOT_GGUF_U64, INGOT_GGUF_I64, INGOT_GGUF_F64
} ingot_gguf_type;

/* A string inside the mapped file: not NUL-terminated. */
typedef struct ingot_str { const char *p; size_t n; } ingot_str;

typedef struct ingot_gguf_tensor {
    ingot_str name;
    char cname[72];       /* NUL-terminated copy for messages: printable, cut when longer */
    uint32_t type;        /* enum ingot_wtype */
    int n_dims;           /* 1..4 */
    uint64_t dims[4];     /* 1..INT_MAX each, ggml order: dims[0] is contiguous (a multiple of the type's block); unused are 1 */
    const void *data;     /* mapped; aligned to 8 at least, as far as the file's image is */
    uint64_t bytes;
} ingot_gguf_tensor;

/* Opens `path` and maps it for reading; when it is the first of a split set (split.count > 1) the others are opened too, and keys
 * are the first file's. *out is NULL on failure. Memory taken is bounded by the size of the files, whatever they claim.
 * Errors, naming the file and the key or tensor: INGOT_E_IO, INGOT_E_FORMAT, INGOT_E_UNSUPPORTED (big-endian, other versions,
 * nested arrays, tensor types this build lacks), INGOT_E_INVALID (not the first file of its set), INGOT_E_NOMEM.
 * An opened file is immutable: any number of threads may read it. It must not be truncated while it is mapped (the system would
 * raise SIGBUS at the next read behind its new end). */
ingot_status ingot_gguf_open(ingot_gguf **out, const char *path);
/* Parses a file image in memory (tests, fuzzing); `data` stays the caller's and must stay valid. */
ingot_status ingot_gguf_open_memory(ingot_gguf **out, const void *data, size_t n);
void ingot_gguf_close(ingot_gguf *g);

size_t ingot_gguf_file_bytes(const ingot_gguf *g); /* over all files */
int ingot_gguf_tensor_count(const ingot_gguf *g);
const ingot_gguf_tensor *ingot_gguf_tensor_at(const ingot_gguf *g, int i);
const ingot_gguf_tensor *ingot_gguf_tensor_find(const ingot_gguf *g, const char *name); /* NULL when absent; logarithmic */

/* Typed reads of a key. `found` false (and INGOT_OK, *v untouched) when absent; INGOT_E_FORMAT naming the key and both types when
 * the type is wrong. Integers accept any integer type whose value fits. */
ingot_status ingot_gguf_get_u32(const ingot_gguf *g, const char *key, uint32_t *v, bool *found);
ingot_status ingot_gguf_get_f32(const ingot_gguf *g, const char *key, float *v, bool *found);
ingot_status ingot_gguf_get_bool(const ingot_gguf *g, const char *key, bool *v, bool *found);
ingot_status ingot_gguf_get_str(const ingot_gguf *g, const char *key, ingot_str *v, bool *found);
/* Arrays: element type and count; typed copies of the first `count` elements into the caller's buffer [count]. The copies fail with
 * INGOT_E_FORMAT when the key is missing, shorter than `count` or of another type, naming it. */
ingot_status ingot_gguf_get_array(const ingot_gguf *g, const char *key, ingot_gguf_type *type, uint64_t *count, bool *found);
ingot_status ingot_gguf_array_i32(const ingot_gguf *g, const char *key, int32_t *out, uint64_t count);
ingot_status ingot_gguf_array_f32(const ingot_gguf *g, const char *key, float *out, uint64_t count);
/* bool arrays as 0/1; integer arrays accepted. */
ingot_status ingot_gguf_array_bool(const ingot_gguf *g, const char *key, bool *out, uint64_t count);
ingot_status ingot_gguf_array_str(const ingot_gguf *g, const char *key, ingot_str *out, uint64_t count);
#endif
