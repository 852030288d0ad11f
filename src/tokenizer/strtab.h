/* A hash table from byte strings to small integers. Keys are borrowed. Filled once, then read by any number of threads. */
#ifndef INGOT_TOKENIZER_STRTAB_H
#define INGOT_TOKENIZER_STRTAB_H
#include "../gguf/gguf.h"

typedef struct ingot_strtab {
    struct ingot_strtab_slot { uint32_t hash; int32_t id; } *slots; /* id -1: empty */
    ingot_str *keys; /* [n_keys] by id; unused ids have p NULL */
    size_t n_keys, mask;
} ingot_strtab;

/* Room for ids 0..n_keys-1. INGOT_E_NOMEM. */
ingot_status ingot_strtab_init(ingot_strtab *t, size_t n_keys);
void ingot_strtab_free(ingot_strtab *t);
/* Maps `key` to `id` unless it is there already; returns the id that it now has. */
int32_t ingot_strtab_put(ingot_strtab *t, ingot_str key, int32_t id);
int32_t ingot_strtab_find(const ingot_strtab *t, const char *p, size_t n); /* -1: not there */
#endif
