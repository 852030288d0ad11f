/* The one allocator: counted by purpose, 64-byte aligned, with a guard for places that must not allocate and a hook
 * that fails the n-th allocation (tests). Thread-safe. */
#ifndef INGOT_BASE_ALLOC_H
#define INGOT_BASE_ALLOC_H
#include <ingot/types.h>

typedef enum ingot_mem_tag {
    INGOT_MEM_OTHER, INGOT_MEM_KV, INGOT_MEM_WEIGHTS, INGOT_MEM_SCRATCH, INGOT_MEM_TOKENIZER, INGOT_MEM_N_TAGS
} ingot_mem_tag;

/* Zeroed, 64-byte aligned; NULL when out of memory or bytes is absurd. bytes 0 gives a valid pointer. */
void *ingot_alloc(size_t bytes, ingot_mem_tag tag);
/* n * size with overflow check. */
void *ingot_alloc_array(size_t n, size_t size, ingot_mem_tag tag);
/* Grows or shrinks (contents kept, the new part zeroed). On failure NULL and the old block stays. */
void *ingot_realloc(void *p, size_t bytes, ingot_mem_tag tag);
void ingot_dealloc(void *p);
char *ingot_strdup(const char *s, ingot_mem_tag tag);
/* Large blocks straight from the system (mmap): zero, not touched before first use, huge pages advised. */
void *ingot_alloc_mapped(size_t bytes, ingot_mem_tag tag);
void ingot_dealloc_mapped(void *p);

/* Bytes now allocated under a tag. */
size_t ingot_mem_bytes(ingot_mem_tag tag);
/* Debug guard: between forbid(true) and forbid(false) each allocation counts as a violation (process-wide). */
void ingot_mem_forbid(bool on);
long ingot_mem_violations(void);
/* Tests: the n-th allocation from now fails (1 = the next); 0 switches it off. */
void ingot_mem_fail_at(long n);
#endif
