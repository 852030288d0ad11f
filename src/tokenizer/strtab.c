#include "strtab.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <string.h>

/* Eight bytes at a time: keys are short, and the tokenizer spends much of its time here. */
static uint32_t hash_bytes(const char *p, size_t n) {
    const uint64_t k = 0x9E3779B97F4A7C15u;
    uint64_t h = n * k;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * k;
        h ^= h >> 32;
    }
    uint64_t w = 0;
    memcpy(&w, p, n);
    h = (h ^ w) * k;
    return (uint32_t)((h ^ (h >> 29)) * k >> 32);
}

ingot_status ingot_strtab_init(ingot_strtab *t, size_t n_keys) {
    size_t n_slots = 16;
    while (n_slots < 2 * n_keys) n_slots *= 2;
    *t = (ingot_strtab){.n_keys = n_keys, .mask = n_slots - 1};
    t->slots = ingot_alloc_array(n_slots, sizeof *t->slots, INGOT_MEM_TOKENIZER);
    t->keys = ingot_alloc_array(n_keys, sizeof *t->keys, INGOT_MEM_TOKENIZER);
    if (!t->slots || !t->keys) {
        ingot_strtab_free(t);
        return ingot_fail(INGOT_E_NOMEM, "no memory for a table of %zu tokens", n_keys);
    }
    for (size_t i = 0; i < n_slots; i++) t->slots[i].id = -1;
    return INGOT_OK;
}

void ingot_strtab_free(ingot_strtab *t) {
    ingot_dealloc(t->slots);
    ingot_dealloc(t->keys);
    *t = (ingot_strtab){0};
}

/* The slot that holds the key, or the empty one where it belongs. */
static struct ingot_strtab_slot *locate(const ingot_strtab *t, const char *p, size_t n, uint32_t hash) {
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        struct ingot_strtab_slot *s = &t->slots[i];
        if (s->id < 0) return s;
        if (s->hash == hash && t->keys[s->id].n == n && memcmp(t->keys[s->id].p, p, n) == 0) return s;
    }
}

int32_t ingot_strtab_put(ingot_strtab *t, ingot_str key, int32_t id) {
    const uint32_t hash = hash_bytes(key.p, key.n);
    struct ingot_strtab_slot *s = locate(t, key.p, key.n, hash);
    if (s->id < 0) {
        *s = (struct ingot_strtab_slot){hash, id};
        t->keys[id] = key;
    }
    return s->id;
}

int32_t ingot_strtab_find(const ingot_strtab *t, const char *p, size_t n) { return locate(t, p, n, hash_bytes(p, n))->id; }
