#include "merge.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "buffer.h"

typedef struct ingot_pair pair;

void ingot_merger_free(ingot_merger *m) {
    ingot_dealloc(m->symbols);
    ingot_dealloc(m->heap);
    *m = (ingot_merger){0};
}

ingot_status ingot_merger_add(ingot_merger *m, uint32_t start, uint32_t n, int32_t id) {
    if (m->n == m->cap) {
        void *p = m->symbols;
        INGOT_TRY(ingot_buffer_reserve(&p, &m->cap, m->n + 1, sizeof *m->symbols));
        m->symbols = p;
    }
    const int32_t i = (int32_t)m->n++;
    if (i) m->symbols[i - 1].next = i;
    m->symbols[i] = (ingot_symbol){i - 1, -1, start, n, id};
    return INGOT_OK;
}

static ingot_status heap_push(ingot_merger *m, pair x) {
    if (m->n_heap == m->heap_cap) {
        void *p = m->heap;
        INGOT_TRY(ingot_buffer_reserve(&p, &m->heap_cap, m->n_heap + 1, sizeof *m->heap));
        m->heap = p;
    }
    size_t i = m->n_heap++;
    for (; i && x.key < m->heap[(i - 1) / 2].key; i = (i - 1) / 2) m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = x;
    return INGOT_OK;
}

static pair heap_pop(ingot_merger *m) {
    pair *h = m->heap;
    const pair top = h[0], last = h[--m->n_heap];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < m->n_heap; i = c) {
        if (c + 1 < m->n_heap && h[c + 1].key < h[c].key) c++;
        if (last.key <= h[c].key) break;
        h[i] = h[c];
    }
    h[i] = last;
    return top;
}

static ingot_status offer(ingot_merger *m, int32_t left, int32_t right, ingot_pair_fn fn, const void *vocabulary) {
    if (left < 0 || right < 0) return INGOT_OK;
    const ingot_symbol *l = &m->symbols[left], *r = &m->symbols[right];
    uint32_t order;
    int32_t id;
    if (!fn(vocabulary, l, r, &order, &id)) return INGOT_OK;
    return heap_push(m, (pair){(uint64_t)order << 32 | (uint32_t)left, (uint32_t)right, l->n + r->n, id});
}

ingot_status ingot_merger_run(ingot_merger *m, ingot_pair_fn fn, const void *vocabulary) {
    m->n_heap = 0;
    for (size_t i = 1; i < m->n; i++) INGOT_TRY(offer(m, (int32_t)i - 1, (int32_t)i, fn, vocabulary));
    while (m->n_heap) {
        const pair x = heap_pop(m);
        const int32_t left = (int32_t)(uint32_t)x.key;
        ingot_symbol *l = &m->symbols[left], *r = &m->symbols[x.right];
        /* Out of date when either side was merged meanwhile: symbols only grow or vanish. */
        if (!l->n || !r->n || l->n + r->n != x.bytes) continue;
        l->n += r->n;
        l->id = x.id;
        l->next = r->next;
        r->n = 0;
        if (r->next >= 0) m->symbols[r->next].prev = left;
        INGOT_TRY(offer(m, l->prev, left, fn, vocabulary));
        INGOT_TRY(offer(m, left, l->next, fn, vocabulary));
    }
    return INGOT_OK;
}
