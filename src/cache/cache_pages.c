/* Pages: tables, reference counts, the free stack. */
#include "cache_impl.h"
#include <string.h>

int ingot_cache_hi_page(const ingot_cache *c, int g, int packed_end, int n_slots) {
    if (g == c->evict_group) return div_up(n_slots, PAGE);
    const int first = c->n_sinks / PAGE; /* pages that hold nothing but sinks are never taken */
    return packed_end > c->n_sinks ? div_up(packed_end, PAGE) : first;
}

int ingot_cache_needed_page(const ingot_cache *c, int g, int n_tokens, int packed_end) {
    if (g == c->evict_group) return 0;
    const int first = c->n_sinks / PAGE, sliding = c->groups[g].sliding;
    if (!sliding || n_tokens < sliding) return first;
    return max_int(min_int((n_tokens - sliding + 1) / PAGE, packed_end / PAGE), first);
}

int32_t *ingot_cache_page_entry(const ingot_cache *c, int g, int seq, int page) {
    const page_group *group = &c->groups[g];
    return &group->table[(size_t)seq * (size_t)group->table_len + (size_t)(page % group->table_len)];
}

void ingot_cache_pages_take(ingot_cache *c, int g, int seq, int from, int to) {
    page_group *group = &c->groups[g];
    for (int page = from; page < to; page++) {
        const int32_t id = group->free[--group->n_free];
        group->refs[id] = 1;
        *ingot_cache_page_entry(c, g, seq, page) = id;
    }
}

void ingot_cache_pages_drop(ingot_cache *c, int g, int seq, int from, int to) {
    page_group *group = &c->groups[g];
    for (int page = from; page < to; page++) {
        const int32_t id = *ingot_cache_page_entry(c, g, seq, page);
        if (--group->refs[id] == 0) group->free[group->n_free++] = id;
    }
}

void ingot_cache_page_unshare(ingot_cache *c, int g, int seq, int page) {
    const int32_t old = *ingot_cache_page_entry(c, g, seq, page);
    c->groups[g].refs[old]--;
    ingot_cache_pages_take(c, g, seq, page, page + 1);
    const int32_t own = *ingot_cache_page_entry(c, g, seq, page);
    for (int i = 0; i < c->n_layers; i++) {
        const cache_layer *l = &c->layers[i];
        if (l->group != g) continue;
        for (int h = 0; h < l->shape.n_kv_heads; h++) memcpy(ingot_cache_page_head(l, own, h), ingot_cache_page_head(l, old, h), l->head_bytes);
    }
}
