#include "buffer.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <string.h>

ingot_status ingot_buffer_reserve(void **p, size_t *cap, size_t want, size_t size) {
    if (want <= *cap) return INGOT_OK;
    size_t n = *cap ? *cap * 2 : 64;
    while (n < want) n *= 2;
    void *q = n <= SIZE_MAX / size ? ingot_realloc(*p, n * size, INGOT_MEM_TOKENIZER) : NULL;
    if (!q) return ingot_fail(INGOT_E_NOMEM, "no memory to tokenize: %zu elements of %zu bytes", n, size);
    *p = q;
    *cap = n;
    return INGOT_OK;
}

ingot_status ingot_ids_add(ingot_ids *v, int32_t id) {
    if (v->n == v->cap) {
        void *p = v->p;
        INGOT_TRY(ingot_buffer_reserve(&p, &v->cap, v->n + 1, sizeof *v->p));
        v->p = p;
    }
    v->p[v->n++] = id;
    return INGOT_OK;
}

ingot_status ingot_text_add(ingot_text *v, const char *p, size_t n) {
    if (n > v->cap - v->n) {
        void *q = v->p;
        INGOT_TRY(ingot_buffer_reserve(&q, &v->cap, v->n + n, 1));
        v->p = q;
    }
    if (n) memcpy(v->p + v->n, p, n);
    v->n += n;
    return INGOT_OK;
}
