/* Where the tiles of a head lie, single rows of the ring, and blocks for those who look on. */
#include "cache_impl.h"
#include "../base/error.h"

uint8_t *ingot_cache_packed_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page) {
    const int32_t id = *ingot_cache_page_entry(c, l->group, seq, page);
    return ingot_cache_page_head(l, id, head);
}

void ingot_cache_packed_tiles(const ingot_cache *c, const cache_layer *l, int seq, int head, int page, int page_end, const uint8_t **tiles) {
    const int32_t *table = ingot_cache_page_entry(c, l->group, seq, 0);
    const int n = c->groups[l->group].table_len;
    for (int at = page % n; page < page_end; page++) {
        *tiles++ = ingot_cache_page_head(l, table[at], head);
        if (++at == n) at = 0;
    }
}

static uint8_t *exact_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page) {
    const size_t at = (size_t)seq * (size_t)(c->ring_pages + c->sink_pages) + (size_t)page;
    return l->exact + at * l->exact_page_bytes + (size_t)head * l->exact_head_bytes;
}

uint8_t *ingot_cache_ring_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page) {
    return exact_tile(c, l, seq, head, page % c->ring_pages);
}

uint8_t *ingot_cache_sink_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page) {
    return exact_tile(c, l, seq, head, c->ring_pages + page);
}

uint8_t *ingot_cache_batch_tile(const ingot_cache *c, const cache_layer *l, const segment *s, int head, int page) {
    return c->batch + (size_t)(s->batch_page + page) * l->exact_page_bytes + (size_t)head * l->exact_head_bytes;
}

static uint8_t *ring_side(const ingot_cache *c, const cache_layer *l, int seq, int side, int head, int position) {
    return ingot_cache_ring_tile(c, l, seq, head, position / PAGE) + (side ? l->exact_v_offset : 0);
}

void ingot_cache_ring_get(const ingot_cache *c, const cache_layer *l, int seq, int side, int head, int position, uint8_t *row, float *x) {
    const ingot_kv_fmt *f = &l->exact_fmt[side];
    ingot_backend_tile(c->backend, side, f)->get_block(f, ring_side(c, l, seq, side, head, position), position % PAGE, row);
    ingot_codec_get(INGOT_CODEC_F16)->decode(f, row, x);
}

void ingot_cache_ring_set(const ingot_cache *c, const cache_layer *l, int seq, int side, int head, int position, uint8_t *row, const float *x) {
    const ingot_kv_fmt *f = &l->exact_fmt[side];
    ingot_codec_get(INGOT_CODEC_F16)->encode(f, x, 0, 0, 1, row);
    ingot_backend_tile(c->backend, side, f)->set_block(f, ring_side(c, l, seq, side, head, position), position % PAGE, row);
}

float *ingot_cache_mean(const ingot_cache *c, const cache_layer *l, int seq, int head) {
    (void)c;
    return l->means + ((size_t)seq * (size_t)l->shape.n_kv_heads + (size_t)head) * (size_t)l->shape.k_dim;
}

page_meta *ingot_cache_page_meta(const ingot_cache *c, const cache_layer *l, int seq, int head, int page) {
    return (page_meta *)(void *)(ingot_cache_packed_tile(c, l, seq, head, page) + l->meta_offset);
}

float *ingot_cache_ring_score(const ingot_cache *c, const cache_layer *l, int seq, int head, int position) {
    const size_t ring = (size_t)(c->ring_pages * PAGE), at = (size_t)seq * ring + (size_t)position % ring;
    return l->ring_scores + at * (size_t)l->shape.n_kv_heads + head;
}

static void unpack_head(const ingot_cache *c, const cache_layer *l, int seq, int side, int head, int from, int to, int shift, worker *w) {
    const ingot_kv_fmt *f = &l->side[side][head].fmt;
    const int tokens = ingot_codec_tokens(f);
    const float *mean = l->centred && side == INGOT_SIDE_K ? ingot_cache_mean(c, l, seq, head) : NULL;
    for (int p = from; p < to; p++) {
        const int slot = p + shift;
        if (p == from || p % tokens == 0) {
            const uint8_t *tile = ingot_cache_packed_tile(c, l, seq, head, slot / PAGE) + (side ? l->v_offset : 0);
            l->side[side][head].ops->get_block(f, tile, slot % PAGE / tokens * tokens, w->block);
            ingot_codec_get(f->codec)->decode(f, w->block, w->rows);
        }
        if (l->evicts) *ingot_cache_ring_score(c, l, seq, head, p) = ingot_cache_page_meta(c, l, seq, head, slot / PAGE)->score[slot % PAGE];
        float *x = w->rows + (ptrdiff_t)(p % tokens) * f->dim;
        for (int i = 0; mean && i < f->dim; i++) x[i] += mean[i];
        ingot_cache_ring_set(c, l, seq, side, head, p, w->block, x);
    }
}

void ingot_cache_unpack(const ingot_cache *c, const cache_layer *l, int seq, int from, int to, int shift, worker *w) {
    for (int side = 0; side < N_SIDES; side++)
        for (int head = 0; head < l->shape.n_kv_heads; head++) unpack_head(c, l, seq, side, head, max_int(from, c->n_sinks), to, shift, w);
}

/* Slot of a position in a layer that evicts; -1 when it is gone. */
static int find_slot(const ingot_cache *c, const cache_layer *l, int seq, int head, int position) {
    for (int slot = c->n_sinks - c->slot_base; slot < c->seqs[seq].n_slots; slot++)
        if (ingot_cache_page_meta(c, l, seq, head, slot / PAGE)->position[slot % PAGE] == position) return slot;
    return -1;
}

ingot_status ingot_cache_get_block(const ingot_cache *c, int layer, int seq, bool value, int head, int position, void *block, ingot_kv_fmt *fmt) {
    if (layer < 0 || layer >= c->n_layers) return ingot_fail(INGOT_E_INVALID, "layer %d of a cache of %d", layer, c->n_layers);
    if (seq < 0 || seq >= c->max_seqs || !c->seqs[seq].open) return ingot_fail(INGOT_E_INVALID, "sequence %d is not open", seq);
    const cache_layer *l = &c->layers[layer];
    const cache_seq *s = &c->seqs[seq];
    int slot = position;
    if (head < 0 || head >= l->shape.n_kv_heads) return ingot_fail(INGOT_E_INVALID, "KV head %d of %d", head, l->shape.n_kv_heads);
    const bool sink = position < c->n_sinks, packed = !sink && position < s->packed_end;
    if (position < 0 || position >= s->n_tokens || (packed && !l->evicts && position / PAGE < s->lo_page[l->group]))
        return ingot_fail(INGOT_E_INVALID, "position %d of sequence %d is not held (%d tokens)", position, seq, s->n_tokens);
    if (packed && l->evicts && (slot = find_slot(c, l, seq, head, position)) < 0)
        return ingot_fail(INGOT_E_INVALID, "position %d of sequence %d was evicted", position, seq);
    const uint8_t *tile = sink     ? ingot_cache_sink_tile(c, l, seq, head, position / PAGE)
                          : packed ? ingot_cache_packed_tile(c, l, seq, head, slot / PAGE)
                                   : ingot_cache_ring_tile(c, l, seq, head, position / PAGE);
    const ingot_kv_fmt *f = packed ? &l->side[value][head].fmt : &l->exact_fmt[value];
    const ingot_tile_ops *ops = packed ? l->side[value][head].ops : ingot_backend_tile(c->backend, value, f);
    const size_t v_offset = packed ? l->v_offset : l->exact_v_offset;
    const int tokens = ingot_codec_tokens(f);
    ops->get_block(f, tile + (value ? v_offset : 0), slot % PAGE / tokens * tokens, block);
    *fmt = *f;
    return INGOT_OK;
}
