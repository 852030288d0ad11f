/* The loop that both kinds of vocabulary share: a text is a chain of symbols, and the best neighbouring pair is joined
 * until no pair can be. Kept in a heap, so that n symbols cost O(n log n) also when they are all one letter. */
#ifndef INGOT_TOKENIZER_MERGE_H
#define INGOT_TOKENIZER_MERGE_H
#include "../gguf/gguf.h"

typedef struct ingot_symbol {
    int32_t prev, next; /* -1: none */
    uint32_t start, n;  /* bytes of the text; n 0: merged away */
    int32_t id;         /* what the vocabulary made of it; -1 not looked up */
} ingot_symbol;

/* Whether two neighbours can be joined: the id of the result and its order (the smallest is joined first; the leftmost of equals). */
typedef bool (*ingot_pair_fn)(const void *vocabulary, const ingot_symbol *l, const ingot_symbol *r, uint32_t *order, int32_t *id);

/* Scratch space; zero-initialised, reused from text to text, freed once. */
typedef struct ingot_merger {
    ingot_symbol *symbols; /* chain: 0, then .next */
    size_t n, cap;
    struct ingot_pair { uint64_t key; uint32_t right, bytes; int32_t id; } *heap;
    size_t n_heap, heap_cap;
} ingot_merger;

void ingot_merger_free(ingot_merger *m);
static inline void ingot_merger_reset(ingot_merger *m) { m->n = 0; }
/* Appends a symbol to the chain. INGOT_E_NOMEM. */
ingot_status ingot_merger_add(ingot_merger *m, uint32_t start, uint32_t n, int32_t id);
ingot_status ingot_merger_run(ingot_merger *m, ingot_pair_fn pair, const void *vocabulary);
#endif
