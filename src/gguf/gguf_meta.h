/* Inside the GGUF parser: the keys of one file. */
#ifndef INGOT_GGUF_META_H
#define INGOT_GGUF_META_H
#include "gguf_cursor.h"
#include "gguf_index.h"

typedef struct gguf_kv {
    ingot_str key;
    ingot_gguf_type type;     /* of the value */
    ingot_gguf_type elements; /* of an array's elements; equals `type` otherwise */
    uint64_t count;           /* elements of an array, 1 otherwise */
    const uint8_t *p;         /* the value, or an array's first element; all of it lies inside the file */
} gguf_kv;

typedef struct gguf_meta {
    gguf_kv *kv;
    gguf_entry *index;
    int n, capacity;
} gguf_meta;

/* Reads `count` keys at the cursor. On failure too, *meta must be released with gguf_meta_free. */
ingot_status gguf_meta_parse(gguf_meta *meta, gguf_cursor *c, uint64_t count);
void gguf_meta_free(gguf_meta *meta);
const gguf_kv *gguf_meta_find(const gguf_meta *meta, const char *key);
/* As ingot_gguf_get_u32. */
ingot_status gguf_meta_u32(const gguf_meta *meta, const char *key, uint32_t *v, bool *found);
/* Bytes of one value of a number type; 0 for strings and arrays. */
size_t gguf_type_bytes(ingot_gguf_type type);
#endif
