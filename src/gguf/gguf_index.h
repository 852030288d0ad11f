/* Inside the GGUF parser: names sorted for look-up. Sorting keeps its bound for hostile names too, hashing would not. */
#ifndef INGOT_GGUF_INDEX_H
#define INGOT_GGUF_INDEX_H
#include "gguf.h"

typedef struct gguf_entry {
    ingot_str name; /* borrowed from the mapped file */
    int at;         /* position in the table that the index is for */
} gguf_entry;

/* Sorts by name, equal names by position. */
void gguf_index_sort(gguf_entry *entries, int n);
/* The second of the first two equal names of a sorted index, NULL when all differ. */
const gguf_entry *gguf_index_duplicate(const gguf_entry *entries, int n);
/* Position of `name`, -1 when it is not there. */
int gguf_index_find(const gguf_entry *entries, int n, const char *name);
#endif
