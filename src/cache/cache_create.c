/* Creating a cache: checks, groups of layers, capacities. */
#include "cache_layout.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <math.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 28, MAX_SEQS = 4096, MAX_BATCH = 1 << 16, MAX_HEADS = 1024 };

static ingot_status check_range(const char *what, int value, int max) {
    if (value < 1 || value > max) return ingot_fail(INGOT_E_INVALID, "%s is %d; 1 to %d are possible", what, value, max);
    return INGOT_OK;
}

static ingot_status check_shape(const ingot_layer_shape *s, const ingot_side_plan *k, const ingot_side_plan *v) {
    INGOT_TRY(check_range("the number of query heads", s->n_heads, MAX_HEADS));
    INGOT_TRY(check_range("the number of KV heads", s->n_kv_heads, MAX_HEADS));
    if (s->n_heads % s->n_kv_heads)
        return ingot_fail(INGOT_E_INVALID, "%d query heads are not a multiple of %d KV heads", s->n_heads, s->n_kv_heads);
    if (s->sliding_window < 0) return ingot_fail(INGOT_E_INVALID, "a sliding window of %d", s->sliding_window);
    if (!isfinite(s->scale)) return ingot_fail(INGOT_E_INVALID, "the softmax scale is not finite");
    INGOT_TRY(ingot_side_plan_check(k, false, s->k_dim));
    return ingot_side_plan_check(v, true, s->v_dim);
}

static ingot_status check_config(const ingot_cache_config *f) {
    INGOT_TRY(check_range("the number of layers", f->n_layers, INGOT_MAX_LAYERS));
    INGOT_TRY(check_range("max_tokens", f->max_tokens, MAX_TOKENS));
    INGOT_TRY(check_range("max_seqs", f->max_seqs, MAX_SEQS));
    INGOT_TRY(check_range("max_batch", f->max_batch, MAX_BATCH));
    INGOT_TRY(ingot_plan_check(&f->plan, f->n_layers));
    for (int i = 0; i < f->n_layers; i++) {
        const ingot_status s = check_shape(&f->layers[i], ingot_plan_side(&f->plan, i, false), ingot_plan_side(&f->plan, i, true));
        if (s) return ingot_fail_prefix(s, "layer %d", i);
    }
    return INGOT_OK;
}

/* Query tokens of one attention unit: enough rows to make use of every decoded key, few enough that their states stay in cache. */
static int block_tokens(int n_group) { return n_group <= 2 ? 64 : n_group <= 4 ? 32 : 16; }

static int group_of(ingot_cache *c, int sliding) {
    for (int g = 0; g < c->n_groups; g++)
        if (c->groups[g].sliding == sliding) return g;
    c->groups[c->n_groups].sliding = sliding;
    return c->n_groups++;
}

static void set_layers(ingot_cache *c, const ingot_cache_config *f) {
    for (int i = 0; i < c->n_layers; i++) {
        cache_layer *l = &c->layers[i];
        const ingot_layer_shape *s = &f->layers[i];
        l->shape = *s;
        l->group = group_of(c, s->sliding_window);
        l->n_group = s->n_heads / s->n_kv_heads;
        l->block = block_tokens(l->n_group);
        l->exact_fmt[INGOT_SIDE_K] = (ingot_kv_fmt){.codec = INGOT_CODEC_F16, .dim = s->k_dim, .side = INGOT_SIDE_K};
        l->exact_fmt[INGOT_SIDE_V] = (ingot_kv_fmt){.codec = INGOT_CODEC_F16, .dim = s->v_dim, .side = INGOT_SIDE_V};
    }
}

/* Pages that sequences can hold at most. All tokens kept: every sequence may end inside a page. Sliding: what the window spans from any
 * start within a page, and the batch on top. */
static void set_capacities(ingot_cache *c) {
    const int64_t full = ((int64_t)c->max_tokens + (int64_t)(PAGE - 1) * c->max_seqs) / PAGE;
    const int full_table = div_up(c->max_tokens, PAGE), batch = div_up(c->max_batch, PAGE);
    for (int g = 0; g < c->n_groups; g++) {
        page_group *group = &c->groups[g];
        const int64_t window = div_up(min_int(group->sliding, MAX_TOKENS), PAGE) + 2;
        const int64_t pages = window * c->max_seqs + batch;
        const bool all = !group->sliding;
        if (g == c->evict_group) {
            const int64_t slots = (int64_t)div_up(c->max_slots, PAGE) * c->max_seqs;
            group->table_len = div_up(c->max_slots, PAGE);
            group->n_pages = (int)(slots > full ? full : slots);
            continue;
        }
        group->table_len = (int)(all ? full_table : window + batch);
        group->n_pages = (int)(all || pages > INT32_MAX ? full : pages);
    }
}

/* What stays exact, and how long tokens must wait to be packed. */
static void set_exact(ingot_cache *c) {
    bool packed_is_exact = true;
    c->block_tokens = 1;
    for (int i = 0; i < c->n_layers; i++) {
        const cache_layer *l = &c->layers[i];
        for (int side = 0; side < N_SIDES; side++) {
            c->block_tokens = max_int(c->block_tokens, ingot_codec_tokens(&l->side[side]->fmt));
            packed_is_exact &= l->side[side]->fmt.codec == INGOT_CODEC_F16 && !l->evicts;
        }
        if (l->centred) c->hold = MEAN_TO;
    }
    /* A cache that packs into f16 without loss against the exact stores has no use for them, unless a policy must leave their tokens alone. */
    c->window = packed_is_exact ? 0 : c->plan.window;
    c->n_sinks = packed_is_exact ? 0 : c->plan.sinks;
    c->ring_pages = div_up(max_int(c->hold, c->window + (c->block_tokens > 1 ? c->block_tokens : 0)), PAGE);
    c->sink_pages = div_up(c->n_sinks, PAGE);
}

/* Slots that a sequence can use under an evicting policy: the budget, and what one step adds before it evicts. */
static void set_policy(ingot_cache *c) {
    const ingot_policy_plan *p = &c->plan.policy;
    c->evict_group = -1;
    for (int i = 0; i < c->n_layers; i++)
        if (c->layers[i].evicts) c->evict_group = c->layers[i].group;
    if (c->evict_group < 0) return;
    const int64_t least = ingot_plan_least_budget(&c->plan, c->block_tokens, max_int(p->recent, 0)), share = (int64_t)c->max_tokens * p->permill / 1000;
    const int64_t budget = p->budget ? p->budget : share > least ? share : least;
    c->least_budget = (int)least;
    const int64_t slots = budget + c->max_batch + max_int(c->hold, c->window) + 2 * PAGE;
    c->slot_base = c->n_sinks / c->block_tokens * c->block_tokens;
    c->max_slots = (int)(slots < c->max_tokens + PAGE ? slots : c->max_tokens + PAGE);
}

static bool allocate_records(ingot_cache *c) {
    const size_t layers = (size_t)c->n_layers, seqs = (size_t)c->max_seqs, batch = (size_t)c->max_batch;
    c->layers = ingot_alloc_array(layers, sizeof *c->layers, INGOT_MEM_OTHER);
    c->groups = ingot_alloc_array(layers, sizeof *c->groups, INGOT_MEM_OTHER);
    c->seqs = ingot_alloc_array(seqs, sizeof *c->seqs, INGOT_MEM_OTHER);
    c->lo_pages = ingot_alloc_array(seqs * layers, sizeof(int), INGOT_MEM_OTHER);
    c->segments = ingot_alloc_array(seqs < batch ? seqs : batch, sizeof *c->segments, INGOT_MEM_OTHER);
    c->order = ingot_alloc_array(batch, sizeof *c->order, INGOT_MEM_OTHER);
    c->seg_of = ingot_alloc_array(seqs, sizeof *c->seg_of, INGOT_MEM_OTHER);
    c->workers = ingot_alloc_array((size_t)ingot_pool_size(c->device->pool), sizeof *c->workers, INGOT_MEM_OTHER);
    return c->layers && c->groups && c->seqs && c->lo_pages && c->segments && c->order && c->seg_of && c->workers;
}

static ingot_status build(ingot_cache *c, const ingot_cache_config *f) {
    if (!allocate_records(c)) return ingot_fail(INGOT_E_NOMEM, "no memory for the records of a cache of %d layers", c->n_layers);
    for (int i = 0; i < c->max_seqs; i++) c->seqs[i].lo_page = c->lo_pages + (size_t)i * (size_t)c->n_layers;
    set_layers(c, f);
    INGOT_TRY(ingot_cache_sides_create(c, f->calibration));
    set_exact(c);
    set_policy(c);
    set_capacities(c);
    ingot_cache_layout_layers(c);
    atomic_store(&c->bad, NO_BAD);
    return ingot_cache_layout_allocate(c);
}

static int largest_dim(const ingot_cache_config *f, int side) {
    int dim = 0;
    for (int i = 0; i < f->n_layers; i++) dim = max_int(dim, side ? f->layers[i].v_dim : f->layers[i].k_dim);
    return dim;
}

ingot_status ingot_cache_create(ingot_cache **out, ingot_device *device, const ingot_cache_config *f) {
    *out = NULL;
    INGOT_TRY(check_config(f));
    ingot_cache *c = ingot_alloc(sizeof *c, INGOT_MEM_OTHER);
    if (!c) return ingot_fail(INGOT_E_NOMEM, "no memory for a cache");
    c->device = device;
    c->backend = device->backend;
    c->plan = f->plan;
    ingot_plan_fit(&c->plan, largest_dim(f, INGOT_SIDE_K), largest_dim(f, INGOT_SIDE_V));
    c->policy = ingot_policy_get(f->plan.policy.policy);
    c->n_layers = f->n_layers, c->max_tokens = f->max_tokens, c->max_seqs = f->max_seqs, c->max_batch = f->max_batch;
    const ingot_status s = build(c, f);
    if (s) {
        ingot_cache_destroy(c);
        return s;
    }
    *out = c;
    return INGOT_OK;
}

void ingot_cache_destroy(ingot_cache *c) {
    if (!c) return;
    for (int g = 0; g < c->n_groups; g++) {
        ingot_dealloc(c->groups[g].free);
        ingot_dealloc(c->groups[g].refs);
        ingot_dealloc(c->groups[g].table);
    }
    ingot_dealloc_mapped(c->kv_block);
    ingot_dealloc_mapped(c->scratch_block);
    ingot_dealloc(c->sides);
    ingot_dealloc(c->params);
    ingot_dealloc(c->layers);
    ingot_dealloc(c->groups);
    ingot_dealloc(c->seqs);
    ingot_dealloc(c->lo_pages);
    ingot_dealloc(c->segments);
    ingot_dealloc(c->order);
    ingot_dealloc(c->seg_of);
    ingot_dealloc(c->workers);
    ingot_dealloc(c);
}
