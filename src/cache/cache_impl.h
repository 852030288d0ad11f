/* What the files of the cache share. Terms:
 *   position  true index of a token in its sequence
 *   group     the layers with the same retention (all tokens, or one sliding width); they share page tables and page ids
 *   packed    positions [n_sinks, packed_end) of a sequence, in pages by absolute position
 *   ring      positions [packed_end, n_tokens), exact, at slot position % ring size. There is one when there is an exact window, when codecs store blocks of
 *             several tokens (a block is packed when it is full), or when keys are centred (nothing is packed before the mean is known)
 *   slot      place of a packed token, page slot / 64. It is the position, but in layers under an evicting policy, where freed slots are filled from the end;
 *             there slot 0 is position slot_base, and each page says which positions its slots hold
 *   sinks     positions [0, n_sinks), exact
 *   batch     the new tokens of the running step and layer, exact; used only when there is a ring */
#ifndef INGOT_CACHE_IMPL_H
#define INGOT_CACHE_IMPL_H
#include "../backend/backend.h"
#include "../method/method.h"
#include "../policy/policy.h"
#include "../transform/chain.h"
#include "cache_team.h"
#include <ingot/cache.h>
#include <stdatomic.h>

/* Pages lie in runs of so many (or as there are, if fewer), and in a run the tiles of a head one after the other: a head is then read as one stream, which processors fetch ahead of
 * better than pieces of a page (int4, 128K tokens of 8 KV heads: 7 % over runs of 16, nothing to be had over 64), and yet not much memory is touched before it
 * is needed. */
enum { PAGE = INGOT_PAGE_TOKENS, N_SIDES = 2, PAGE_RUN = 64 };

/* Layers that forget alike. Pages are numbered alike in all of them. */
typedef struct page_group {
    int sliding;    /* 0 = all tokens stay */
    int n_pages;    /* capacity */
    int table_len;  /* entries of one sequence's table: page of absolute index i at i % table_len */
    int n_free;
    int32_t *free;  /* [n_pages] stack of free ids */
    int32_t *refs;  /* [n_pages] tables that name the page */
    int32_t *table; /* [max_seqs][table_len] */
    size_t page_bytes; /* of all layers of the group together */
} page_group;

/* How one side of one KV head is stored. */
typedef struct cache_side {
    ingot_kv_fmt fmt; /* with the head's params */
    const ingot_tile_ops *ops; /* of its tiles: to ask for them means to work out the layout */
    ingot_transform_chain chain;
    const float *policy_cal; /* K: what the policy's score needs */
} cache_side;

/* What an evicting policy knows of a page's slots; lies behind the V tile of each head. */
typedef struct page_meta {
    float score[PAGE];
    int32_t position[PAGE];
} page_meta;

typedef struct cache_layer {
    ingot_layer_shape shape;
    int group;   /* index into groups */
    int n_group; /* query heads of one KV head */
    int block;   /* query tokens of one attention unit */
    cache_side *side[N_SIDES]; /* [n_kv_heads] */
    ingot_kv_fmt exact_fmt[N_SIDES];
    bool centred;  /* keys are packed less the mean of the sequence's first ones */
    bool evicts;   /* under an evicting policy */
    float *ring_scores; /* evicts: [max_seqs][ring_pages * PAGE][n_kv_heads] */
    float *means;  /* centred: [max_seqs][n_kv_heads][k_dim], in the stored frame */
    /* Tiles of one head: K at 0, V at v_offset. Exact pages: heads one after the other. */
    size_t v_offset, meta_offset, head_bytes, page_bytes;
    size_t exact_v_offset, exact_head_bytes, exact_page_bytes;
    uint8_t *pages; /* [runs][head][run][head_bytes]: ingot_cache_page_head */
    int run;        /* pages of a run */
    uint8_t *exact; /* [max_seqs][ring_pages + sink_pages][exact_page_bytes] */
    bool done;      /* ran in this step */
} cache_layer;

/* The tiles of a head in a page. */
static inline uint8_t *ingot_cache_page_head(const cache_layer *l, int32_t id, int head) {
    const size_t run = (size_t)id / PAGE_RUN, in_run = (size_t)id % PAGE_RUN; /* a shorter run is the only one */
    return l->pages + run * PAGE_RUN * l->page_bytes + ((size_t)(head * l->run) + in_run) * l->head_bytes;
}

/* Bytes of all pages of a layer. */
static inline uint64_t ingot_cache_pages_bytes(const page_group *g, const cache_layer *l) {
    return (uint64_t)((g->n_pages + l->run - 1) / l->run * l->run) * (uint64_t)l->page_bytes;
}

typedef struct cache_seq {
    bool open, in_step;
    int n_tokens;
    int packed_end; /* at least n_tokens - window, at most n_tokens */
    int *lo_page;   /* [n_groups] first page held */
    int n_slots;    /* used in layers that evict */
    bool evicted;   /* some token is gone */
} cache_seq;

/* The tokens of one sequence in the running step. */
typedef struct segment {
    int seq, first, n; /* positions [first, first + n) */
    int row;           /* their batch rows: order[row .. row + n) */
    bool contiguous;   /* those are consecutive */
    int packed_from, packed_to; /* positions that this step packs (those below n_sinks excepted) */
    int slots_from, slots_to;   /* layers that evict: the slots that this step fills */
    bool finds_mean; /* centred layers: the mean is taken in this step */
    int batch_page;    /* first page in the batch's tiles */
    int max_splits;    /* parts that the attention of one query block may be cut into */
    int part_row;      /* first token row of its partial states */
} segment;

/* Scratch of one thread. */
typedef struct worker {
    float *m, *l, *o;      /* states of one query block */
    int32_t *lo, *hi;      /* [block] */
    const uint8_t **tiles; /* [longest run] */
    float *rows;           /* [PAGE][largest dim] */
    uint8_t *block;        /* one canonical block */
    uint64_t *ranks;       /* [most blocks of a sequence] order of eviction */
    float *shift;          /* centred keys: what the scores of packed keys lack, per row of the query block */
    void *attend;
} worker;

struct ingot_cache {
    ingot_device *device;
    const ingot_backend *backend;
    ingot_plan plan;
    int n_layers, n_groups, max_tokens, max_seqs, max_batch;
    int window, n_sinks;        /* effective: 0 where the packed form is f16 already */
    int block_tokens;           /* tokens are packed in multiples of this: the largest block of any layer's codecs */
    int hold;                   /* nothing is packed before so many tokens are there: keys to take the mean of; 0 without centring */
    const ingot_policy *policy;
    int evict_group;            /* the group under an evicting policy; -1 without */
    int least_budget;           /* what a share means at least there */
    int slot_base;              /* position of slot 0 there */
    int max_slots;              /* of one sequence */
    bool any_means;             /* some segment of the step finds its mean */
    int ring_pages, sink_pages; /* exact pages of one sequence */
    cache_layer *layers;
    cache_side *sides;          /* storage of all layers' sides */
    void *params;               /* codec params made from the calibration */
    size_t method_bytes;        /* those, and the calibration's arrays that are in use */
    page_group *groups;
    cache_seq *seqs;
    int *lo_pages; /* storage of all seqs' lo_page */

    /* step */
    bool in_step;
    int n_segments, n_rows;
    bool any_splits;
    segment *segments; /* [min(max_seqs, max_batch)] */
    int32_t *order;    /* [max_batch] */
    int32_t *seg_of;   /* [max_seqs] */
    uint8_t *batch;    /* exact tiles of the step's new tokens, one layer's at a time */
    float *q_copy;     /* [max_batch][largest n_heads * k_dim] queries in segment order, transformed */
    float *part_m, *part_l, *part_o;
    float *row_m, *row_l; /* policies that watch attention: final states of the layer's rows [n_rows][largest n_heads] */
    worker *workers;
    _Atomic uint64_t bad; /* smallest (row, head, side) with a non-finite element; NO_BAD when none */
    atomic_int bad_layer;
    int n_bad; /* vectors of that layer and step that are not finite */

    uint8_t *kv_block, *scratch_block; /* the two large allocations */
    size_t kv_bytes, table_bytes;
};

#define NO_BAD UINT64_MAX

static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }
static inline int div_up(int a, int b) { return (a + b - 1) / b; }

/* Keys that a mean is taken of: the first ones, without those that begin a text, which are unlike all others. */
enum { MEAN_FROM = 4, MEAN_TO = INGOT_MEAN_TOKENS };

/* End of what is packed once n tokens are there (if nothing was packed beyond it before). */
static inline int ingot_cache_pack_end(const ingot_cache *c, int n) {
    if (n < c->hold || n <= c->window) return 0;
    return (n - c->window) / c->block_tokens * c->block_tokens;
}

/* Slot of a position that this step packs, or that was packed while nothing had been evicted (slots_from - position = shift). */
static inline int ingot_cache_slot_shift(const cache_layer *l, const segment *s, const ingot_cache *c) {
    return l->evicts ? s->slots_from - max_int(s->packed_from, c->slot_base) : 0;
}

/* --- cache_sides.c: codecs and transforms of every layer and head, from plan and calibration --- */
/* Allocates and fills c->sides and c->params; needs shapes. */
ingot_status ingot_cache_sides_create(ingot_cache *c, const ingot_calibration *calibration);

/* --- cache_pages.c --- */
/* End of the pages of group g that hold packed positions below `packed_end`, or `n_slots` slots where the group evicts. */
int ingot_cache_hi_page(const ingot_cache *c, int g, int packed_end, int n_slots);
/* First page that group g needs once n_tokens are held and those below packed_end are packed: for queries at position n_tokens and
 * later, and the page that the next token to be packed goes into (an exact window may be longer than the sliding one). */
int ingot_cache_needed_page(const ingot_cache *c, int g, int n_tokens, int packed_end);
int32_t *ingot_cache_page_entry(const ingot_cache *c, int g, int seq, int page);
void ingot_cache_pages_take(ingot_cache *c, int g, int seq, int from, int to);
void ingot_cache_pages_drop(ingot_cache *c, int g, int seq, int from, int to);
/* Gives seq a copy of its own of a shared page. */
void ingot_cache_page_unshare(ingot_cache *c, int g, int seq, int page);

/* --- cache_tile.c: where tiles lie --- */
/* tiles [page_end - page] of a head. */
void ingot_cache_packed_tiles(const ingot_cache *c, const cache_layer *l, int seq, int head, int page, int page_end, const uint8_t **tiles);
uint8_t *ingot_cache_packed_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page);
uint8_t *ingot_cache_ring_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page);
uint8_t *ingot_cache_sink_tile(const ingot_cache *c, const cache_layer *l, int seq, int head, int page);
uint8_t *ingot_cache_batch_tile(const ingot_cache *c, const cache_layer *l, const segment *s, int head, int page);
/* The exact row [dim] of one position of the ring, as floats, and its replacement; `row` is scratch. */
void ingot_cache_ring_get(const ingot_cache *c, const cache_layer *l, int seq, int side, int head, int position, uint8_t *row, float *x);
void ingot_cache_ring_set(const ingot_cache *c, const cache_layer *l, int seq, int side, int head, int position, uint8_t *row, const float *x);
/* The mean that a head's packed keys lack, [k_dim]. */
float *ingot_cache_mean(const ingot_cache *c, const cache_layer *l, int seq, int head);
/* Gives the ring what packed positions [from, to) of a sequence decode to, in one layer; they lie in slots position + shift of pages that are held. */
void ingot_cache_unpack(const ingot_cache *c, const cache_layer *l, int seq, int from, int to, int shift, worker *w);
/* Layers that evict: what is known of a page's slots, and the score of a position of the ring. */
page_meta *ingot_cache_page_meta(const ingot_cache *c, const cache_layer *l, int seq, int head, int page);
float *ingot_cache_ring_score(const ingot_cache *c, const cache_layer *l, int seq, int head, int position);

/* --- a layer at work --- */
typedef struct layer_job {
    ingot_cache *c;
    cache_layer *l;
    const float *q, *x[N_SIDES]; /* x: k, v */
    ptrdiff_t q_stride, x_stride[N_SIDES];
    float *out; /* NULL: nothing attends */
    ptrdiff_t out_stride;
    bool copy_q; /* queries are read from q_copy */
} layer_job;

/* cache_mean.c: phase 0, in steps that find the mean of a sequence's keys. One unit per head. */
int ingot_cache_mean_units(const layer_job *j, const segment *s);
void ingot_cache_mean_unit(const layer_job *j, const segment *s, int head, worker *w);

/* cache_store.c: phase 1 (pack, keep exact copies, transform queries) and, after attention, the ring's update.
 * Units are numbered per segment. */
int ingot_cache_store_units(const layer_job *j, const segment *s);
void ingot_cache_store_unit(const layer_job *j, const segment *s, int unit, worker *w);
/* New vectors of the layer that are not finite. */
int ingot_cache_count_bad(const layer_job *j);
/* Stored form [dim] of one position at hand (of the segment, or of the ring) before it is packed: transformed, and rounded to f16 when there is a ring. */
void ingot_cache_stored_row(const layer_job *j, const segment *s, int side, int head, int position, worker *w, float *x);
void ingot_cache_ring_update(const layer_job *j, const segment *s, int head, worker *w);

/* cache_watch.c: after attention, under policies that watch it: scores of all tokens. One unit per head. */
int ingot_cache_watch_units(const layer_job *j, const segment *s);
void ingot_cache_watch_unit(const layer_job *j, const segment *s, int head, worker *w);

/* cache_evict.c: at the end of a step. */
void ingot_cache_evict(ingot_cache *c);

/* cache_attend.c: phase 2, and the merge of parts after it. */
int ingot_cache_attend_units(const layer_job *j, const segment *s);
void ingot_cache_attend_unit(const layer_job *j, const segment *s, int unit, worker *w);
int ingot_cache_merge_units(const layer_job *j, const segment *s);
void ingot_cache_merge_unit(const layer_job *j, const segment *s, int unit);
/* Parts that a query block of a segment of n tokens may be cut into: a function of the sequence's own step only, so that
 * results depend neither on the number of threads nor on what else is in the batch. */
int ingot_cache_max_splits(int n_tokens);
/* Most token rows of partial states that a step can need. */
int ingot_cache_max_part_rows(int max_seqs, int max_batch);
#endif
