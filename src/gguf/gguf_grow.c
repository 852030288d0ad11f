#include "gguf_grow.h"
#include "../base/alloc.h"
#include <limits.h>
#include <stdint.h>

void *gguf_grow(void *p, int *capacity, int need, size_t size) {
    enum { FIRST = 64 };
    if (p && need <= *capacity) return p;
    int larger = *capacity > INT_MAX / 2 ? INT_MAX : 2 * *capacity;
    if (larger < FIRST) larger = FIRST;
    if (larger < need) larger = need;
    if ((size_t)larger > SIZE_MAX / size) return NULL;
    void *q = ingot_realloc(p, (size_t)larger * size, INGOT_MEM_OTHER);
    if (q) *capacity = larger;
    return q;
}
