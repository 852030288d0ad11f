/* Memory for prepared weights: matrices smaller than a huge page lie together in large mappings, so that all of them are read through huge pages
 * (a decode step reads every weight once; with small pages it waits for page walks, and prefetching ends at every 4 KB). */
#ifndef INGOT_CPU_WEIGHT_ARENA_H
#define INGOT_CPU_WEIGHT_ARENA_H
#include <stddef.h>

/* Zeroed, 64-byte aligned; NULL when out of memory. Thread-safe. */
void *ingot_weight_arena_get(size_t bytes);
/* Gives one block back; its mapping goes when all of its blocks have. NULL is allowed. */
void ingot_weight_arena_put(void *p);
#endif
