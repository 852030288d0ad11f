#include "cache_layout.h"
#include "../base/alloc.h"
#include "../base/checked.h"
#include "../base/error.h"

/* Cuts a block into pieces. With base NULL it only adds up, so that the same code first measures, then places. */
typedef struct cutter {
    uint8_t *base;
    uint64_t used;
    bool overflow;
} cutter;

static void *cut(cutter *k, uint64_t n, uint64_t size) {
    uint64_t bytes, end;
    if (!ingot_mul_u64(n, size, &bytes) || !ingot_add_u64(bytes, 63, &bytes) || !ingot_add_u64(k->used, bytes & ~(uint64_t)63, &end)) {
        k->overflow = true;
        return NULL;
    }
    uint8_t *p = k->base ? k->base + k->used : NULL;
    k->used = end;
    return p;
}

static void tile_sizes(const ingot_backend *b, const ingot_kv_fmt *k, const ingot_kv_fmt *v, int heads, size_t *v_offset, size_t *head_bytes, size_t *page_bytes) {
    *v_offset = ingot_backend_tile(b, INGOT_SIDE_K, k)->bytes(k);
    *head_bytes = *v_offset + ingot_backend_tile(b, INGOT_SIDE_V, v)->bytes(v);
    *page_bytes = *head_bytes * (size_t)heads;
}

void ingot_cache_layout_layers(ingot_cache *c) {
    for (int i = 0; i < c->n_layers; i++) {
        cache_layer *l = &c->layers[i];
        tile_sizes(c->backend, &l->side[0]->fmt, &l->side[1]->fmt, l->shape.n_kv_heads, &l->v_offset, &l->head_bytes, &l->page_bytes);
        if (l->evicts) {
            l->meta_offset = l->head_bytes;
            l->head_bytes += sizeof(page_meta);
            l->page_bytes = l->head_bytes * (size_t)l->shape.n_kv_heads;
        }
        tile_sizes(c->backend, &l->exact_fmt[0], &l->exact_fmt[1], l->shape.n_kv_heads, &l->exact_v_offset, &l->exact_head_bytes, &l->exact_page_bytes);
        c->groups[l->group].page_bytes += l->page_bytes;
        l->run = min_int(c->groups[l->group].n_pages, PAGE_RUN);
    }
}

static void place_kv(ingot_cache *c, cutter *k) {
    for (int i = 0; i < c->n_layers; i++) {
        cache_layer *l = &c->layers[i];
        l->pages = cut(k, ingot_cache_pages_bytes(&c->groups[l->group], l), 1);
        l->means = l->centred ? cut(k, (uint64_t)c->max_seqs * (uint64_t)l->shape.n_kv_heads * (uint64_t)l->shape.k_dim, sizeof(float)) : NULL;
        l->ring_scores = l->evicts && c->ring_pages ? cut(k, (uint64_t)c->max_seqs * (uint64_t)(c->ring_pages * PAGE), sizeof(float) * (size_t)l->shape.n_kv_heads) : NULL;
        l->exact = cut(k, (uint64_t)c->max_seqs * (uint64_t)(c->ring_pages + c->sink_pages), l->exact_page_bytes);
    }
}

/* Largest needs of any layer. */
typedef struct needs {
    size_t exact_page_bytes, q_width, n_heads, max_dim, v_dim, rows, attend, run_pages, block;
} needs;

static void raise(size_t *a, size_t b) {
    if (b > *a) *a = b;
}

static needs find_needs(const ingot_cache *c) {
    needs n = {.run_pages = (size_t)(div_up(c->max_batch, PAGE) + c->ring_pages + c->sink_pages + 1)};
    for (int g = 0; g < c->n_groups; g++) raise(&n.run_pages, (size_t)c->groups[g].table_len);
    for (int i = 0; i < c->n_layers; i++) {
        const cache_layer *l = &c->layers[i];
        raise(&n.exact_page_bytes, l->exact_page_bytes);
        raise(&n.q_width, (size_t)l->shape.n_heads * (size_t)l->shape.k_dim);
        raise(&n.n_heads, (size_t)l->shape.n_heads);
        raise(&n.max_dim, (size_t)max_int(l->shape.k_dim, l->shape.v_dim));
        for (int side = 0; side < N_SIDES; side++) raise(&n.block, ingot_codec_get(l->side[side]->fmt.codec)->block_bytes(&l->side[side]->fmt));
        raise(&n.v_dim, (size_t)l->shape.v_dim);
        raise(&n.rows, (size_t)l->block * (size_t)l->n_group);
        raise(&n.attend, c->backend->attend_scratch_bytes(&l->side[0]->fmt, &l->side[1]->fmt, l->n_group, l->block));
        raise(&n.attend, c->backend->attend_scratch_bytes(&l->exact_fmt[0], &l->exact_fmt[1], l->n_group, l->block));
    }
    raise(&n.block, 2 * n.max_dim); /* a row of the ring */
    return n;
}

static void place_worker(worker *w, const needs *n, uint64_t max_slots, cutter *k) {
    w->m = cut(k, n->rows, sizeof(float));
    w->l = cut(k, n->rows, sizeof(float));
    w->o = cut(k, n->rows * n->v_dim, sizeof(float));
    w->lo = cut(k, PAGE, sizeof(int32_t));
    w->hi = cut(k, PAGE, sizeof(int32_t));
    w->tiles = cut(k, n->run_pages, sizeof(uint8_t *));
    w->rows = cut(k, PAGE * n->max_dim, sizeof(float));
    w->block = cut(k, n->block, 1);
    w->shift = cut(k, n->rows, sizeof(float));
    w->ranks = cut(k, max_slots, sizeof(uint64_t));
    w->attend = cut(k, n->attend, 1);
}

static void place_scratch(ingot_cache *c, const needs *n, cutter *k) {
    const uint64_t part_rows = (uint64_t)ingot_cache_max_part_rows(c->max_seqs, c->max_batch) * n->n_heads;
    const int batch_pages = c->ring_pages ? c->max_batch / PAGE + min_int(c->max_seqs, c->max_batch) : 0;
    c->batch = cut(k, (uint64_t)batch_pages, n->exact_page_bytes);
    c->q_copy = cut(k, (uint64_t)c->max_batch * n->q_width, sizeof(float));
    const uint64_t watched = c->evict_group >= 0 && c->policy->observers ? (uint64_t)c->max_batch * n->n_heads : 0;
    c->row_m = cut(k, watched, sizeof(float));
    c->row_l = cut(k, watched, sizeof(float));
    c->part_m = cut(k, part_rows, sizeof(float));
    c->part_l = cut(k, part_rows, sizeof(float));
    c->part_o = cut(k, part_rows * n->v_dim, sizeof(float));
    for (int i = 0; i < ingot_pool_size(c->device->pool); i++) place_worker(&c->workers[i], n, (uint64_t)c->max_slots, k);
}

static ingot_status allocate_tables(ingot_cache *c) {
    for (int g = 0; g < c->n_groups; g++) {
        page_group *group = &c->groups[g];
        const size_t pages = (size_t)group->n_pages, entries = (size_t)c->max_seqs * (size_t)group->table_len;
        group->free = ingot_alloc_array(pages, sizeof(int32_t), INGOT_MEM_KV);
        group->refs = ingot_alloc_array(pages, sizeof(int32_t), INGOT_MEM_KV);
        group->table = ingot_alloc_array(entries, sizeof(int32_t), INGOT_MEM_KV);
        if (!group->free || !group->refs || !group->table) return ingot_fail(INGOT_E_NOMEM, "no memory for the tables of %zu pages", pages);
        c->table_bytes += (2 * pages + entries) * sizeof(int32_t);
        /* Low ids are taken first, so that the part of the block that was never touched stays untouched. */
        for (int i = 0; i < group->n_pages; i++) group->free[i] = group->n_pages - 1 - i;
        group->n_free = group->n_pages;
    }
    return INGOT_OK;
}

ingot_status ingot_cache_layout_allocate(ingot_cache *c) {
    const needs n = find_needs(c);
    cutter kv = {NULL, 0, false}, scratch = {NULL, 0, false};
    place_kv(c, &kv);
    place_scratch(c, &n, &scratch);
    if (kv.overflow || scratch.overflow) return ingot_fail(INGOT_E_NOMEM, "a cache of %d tokens does not fit any memory", c->max_tokens);
    INGOT_TRY(allocate_tables(c));
    c->kv_block = ingot_alloc_mapped((size_t)kv.used, INGOT_MEM_KV);
    c->scratch_block = ingot_alloc_mapped((size_t)scratch.used, INGOT_MEM_SCRATCH);
    if (!c->kv_block || !c->scratch_block)
        return ingot_fail(INGOT_E_NOMEM, "no memory for a cache of %d tokens (%llu bytes, and %llu of scratch)", c->max_tokens,
                          (unsigned long long)kv.used, (unsigned long long)scratch.used);
    c->kv_bytes = (size_t)kv.used;
    kv = (cutter){c->kv_block, 0, false};
    scratch = (cutter){c->scratch_block, 0, false};
    place_kv(c, &kv);
    place_scratch(c, &n, &scratch);
    return INGOT_OK;
}
