/* Inside the GGUF parser: tables that grow while a file is read, so that memory follows what was read, not what a header claims. */
#ifndef INGOT_GGUF_GROW_H
#define INGOT_GGUF_GROW_H
#include <stddef.h>

/* The table with room for `need` records of `size` bytes: `p` itself, or moved to at least twice the room. NULL when there is no
 * memory; `p` stays then. */
void *gguf_grow(void *p, int *capacity, int need, size_t size);
#endif
