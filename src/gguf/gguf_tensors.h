/* Inside the GGUF parser: the tensors of one or several files. */
#ifndef INGOT_GGUF_TENSORS_H
#define INGOT_GGUF_TENSORS_H
#include "gguf_cursor.h"
#include "gguf_index.h"

typedef struct gguf_tensors {
    ingot_gguf_tensor *t;
    gguf_entry *index; /* valid after gguf_tensors_index */
    int n, capacity;
} gguf_tensors;

/* Reads `count` tensor descriptions at the cursor, adds them to the table and places them in the data section that follows;
 * all of them lie inside the file, aligned and without overlap, when it succeeds. */
ingot_status gguf_tensors_parse(gguf_tensors *table, gguf_cursor *c, uint64_t count, uint32_t alignment);
/* Builds the index. INGOT_E_FORMAT naming a tensor that is there twice; *second is it then. */
ingot_status gguf_tensors_index(gguf_tensors *table, const ingot_gguf_tensor **second);
void gguf_tensors_free(gguf_tensors *table);
#endif
