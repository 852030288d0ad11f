/* Inside the GGUF parser: reading a byte range in order, never past its end. */
#ifndef INGOT_GGUF_CURSOR_H
#define INGOT_GGUF_CURSOR_H
#include "gguf.h"
#include "../base/le.h"

typedef struct gguf_cursor {
    const uint8_t *base;
    uint64_t size, pos; /* pos <= size */
} gguf_cursor;

static inline uint64_t gguf_left(const gguf_cursor *c) { return c->size - c->pos; }

/* Each moves on by what it read; INGOT_E_FORMAT saying where, what (`what`) and how much is missing when the file ends before. */
ingot_status gguf_take(gguf_cursor *c, uint64_t bytes, const char *what, const uint8_t **p);
ingot_status gguf_take_u32(gguf_cursor *c, const char *what, uint32_t *v);
ingot_status gguf_take_u64(gguf_cursor *c, const char *what, uint64_t *v);
/* A u64 length and that many bytes. */
ingot_status gguf_take_str(gguf_cursor *c, const char *what, ingot_str *s);

/* Text from a file made fit for a message: printable ASCII, others as '?', cut with "..." to what fits. Returns `text`. */
char *gguf_printable(char *text, size_t size, ingot_str s);
#endif
