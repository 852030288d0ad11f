#include "weight_arena.h"
#include "../../base/alloc.h"
#include <pthread.h>
#include <stdint.h>

enum { SLAB_BYTES = 16 << 20, ALIGN = 64 };

/* One mapping, with this in front of its blocks. */
typedef struct slab {
    struct slab *next;
    size_t bytes, used;
    int n_blocks;
} slab;

static slab *slabs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The newest slab, or a new one where the block does not fit; a block of more than half a slab gets its own, behind the newest. */
static slab *slab_for(size_t bytes) {
    if (slabs && slabs->bytes - slabs->used >= bytes) return slabs;
    const size_t head = (sizeof(slab) + ALIGN - 1) / ALIGN * ALIGN, want = bytes > SLAB_BYTES / 2 ? bytes + head : SLAB_BYTES;
    slab *s = ingot_alloc_mapped(want, INGOT_MEM_WEIGHTS);
    if (!s) return NULL;
    *s = (slab){.bytes = want, .used = head};
    slab **at = want == SLAB_BYTES || !slabs ? &slabs : &slabs->next;
    s->next = *at;
    *at = s;
    return s;
}

void *ingot_weight_arena_get(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    pthread_mutex_lock(&lock);
    slab *s = slab_for(bytes);
    void *p = NULL;
    if (s) {
        p = (uint8_t *)s + s->used;
        s->used += bytes;
        s->n_blocks++;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

void ingot_weight_arena_put(void *p) {
    if (!p) return;
    pthread_mutex_lock(&lock);
    for (slab **at = &slabs; *at; at = &(*at)->next) {
        slab *s = *at;
        if ((uintptr_t)p < (uintptr_t)s || (uintptr_t)p >= (uintptr_t)s + s->bytes) continue;
        if (--s->n_blocks == 0) {
            *at = s->next;
            ingot_dealloc_mapped(s);
        }
        break;
    }
    pthread_mutex_unlock(&lock);
}
