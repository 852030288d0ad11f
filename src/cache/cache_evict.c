/* Eviction at the end of a step: where more tokens are held than the budget allows, the blocks of smallest score go, and blocks from the end fill their places.
 * Every head of every layer chooses for itself; all lose the same number, so that they go on sharing page tables. */
#include "cache_impl.h"
#include <string.h>

/* Tokens of one sequence that the policy allows once n are there. */
static int budget_of(const ingot_cache *c, int n) {
    const ingot_policy_plan *p = &c->plan.policy;
    return p->budget ? p->budget : max_int((int)((int64_t)n * p->permill / 1000), c->least_budget);
}

/* Newest packed tokens that stay; where the plan does not say how many, whole blocks that leave one to choose. */
static int recent_of(const ingot_cache *c, int budget) {
    const int recent = c->plan.policy.recent;
    if (recent >= 0) return recent;
    return max_int(min_int(budget / 4 - c->window, (budget - c->least_budget) / c->block_tokens * c->block_tokens), 0);
}

/* Slots that a sequence may keep: what the budget leaves beside sinks and ring, in whole blocks. With fewer than the mean of centred keys takes there are none yet. */
static int allowed_slots(const ingot_cache *c, const cache_seq *s) {
    const int sinks = min_int(c->n_sinks, s->n_tokens), ring = s->n_tokens - max_int(s->packed_end, sinks);
    const int slots = max_int(budget_of(c, s->n_tokens) - sinks - ring, 0) + c->n_sinks - c->slot_base;
    return slots / c->block_tokens * c->block_tokens;
}

typedef struct eviction {
    ingot_cache *c;
    const cache_layer *l;
    int seq, head;
    int keep;         /* slots that stay */
    int protect_from; /* positions from here on stay */
    worker *w;
} eviction;

/* Orders blocks by (protected, score, age): a float's bits, made to grow with the float, over the block's number. */
static uint64_t rank_of(const eviction *e, int block) {
    const int tokens = e->c->block_tokens, slot = block * tokens;
    const page_meta *meta = ingot_cache_page_meta(e->c, e->l, e->seq, e->head, slot / PAGE);
    const bool first = block == 0 && e->c->n_sinks > e->c->slot_base; /* has absent tokens, and ranges that say so */
    double sum = 0;
    int32_t newest = 0;
    for (int i = 0; i < tokens; i++) {
        sum += (double)meta->score[slot % PAGE + i];
        newest = max_int(newest, meta->position[slot % PAGE + i]);
    }
    const float score = (float)(sum / tokens);
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    const bool stays = first || newest >= e->protect_from;
    return (uint64_t)stays << 63 | (uint64_t)(bits >> 1) << 32 | (uint32_t)block;
}

/* Reorders ranks[n] so that the k smallest come first (quickselect; ranks differ by their block's number). */
static void select_smallest(uint64_t *ranks, int n, int k) {
    int lo = 0, hi = n - 1;
    while (lo < hi) {
        const uint64_t pivot = ranks[lo + (hi - lo) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (ranks[i] < pivot) i++;
            while (ranks[j] > pivot) j--;
            if (i <= j) {
                const uint64_t t = ranks[i];
                ranks[i++] = ranks[j], ranks[j--] = t;
            }
        }
        if (k <= j + 1) hi = j;
        else if (k > i) lo = i;
        else return;
    }
}

static void move_block(const eviction *e, int to, int from) {
    const ingot_cache *c = e->c;
    const int tokens = c->block_tokens, a = to * tokens, b = from * tokens;
    for (int side = 0; side < N_SIDES; side++) {
        const ingot_kv_fmt *f = &e->l->side[side][e->head].fmt;
        const ingot_tile_ops *ops = e->l->side[side][e->head].ops;
        const size_t offset = side ? e->l->v_offset : 0;
        for (int i = 0; i < tokens; i += ingot_codec_tokens(f)) {
            ops->get_block(f, ingot_cache_packed_tile(c, e->l, e->seq, e->head, b / PAGE) + offset, b % PAGE + i, e->w->block);
            ops->set_block(f, ingot_cache_packed_tile(c, e->l, e->seq, e->head, a / PAGE) + offset, a % PAGE + i, e->w->block);
        }
    }
    page_meta *ma = ingot_cache_page_meta(c, e->l, e->seq, e->head, a / PAGE), *mb = ingot_cache_page_meta(c, e->l, e->seq, e->head, b / PAGE);
    memcpy(ma->score + a % PAGE, mb->score + b % PAGE, sizeof(float) * (size_t)tokens);
    memcpy(ma->position + a % PAGE, mb->position + b % PAGE, sizeof(int32_t) * (size_t)tokens);
}

static void evict_head(const eviction *e, int n_slots) {
    const int n = n_slots / e->c->block_tokens, keep = e->keep / e->c->block_tokens, gone = n - keep;
    uint64_t *ranks = e->w->ranks;
    for (int i = 0; i < n; i++) ranks[i] = rank_of(e, i);
    select_smallest(ranks, n, gone);
    /* Freed places below `keep` are filled with what stays above it. */
    int hole = 0, mover = gone;
    for (;;) {
        while (hole < gone && (int)(uint32_t)ranks[hole] >= keep) hole++;
        while (mover < n && (int)(uint32_t)ranks[mover] < keep) mover++;
        if (hole == gone || mover == n) return;
        move_block(e, (int)(uint32_t)ranks[hole++], (int)(uint32_t)ranks[mover++]);
    }
}

static void evict_team(const ingot_team *team, void *arg) {
    ingot_cache *c = arg;
    ingot_team_start(team, 0);
    int base = 0, unit = ingot_team_next(team, 0);
    for (int i = 0; i < c->n_segments; i++) {
        const cache_seq *s = &c->seqs[c->segments[i].seq];
        const int keep = allowed_slots(c, s), protect_from = s->packed_end - recent_of(c, budget_of(c, s->n_tokens));
        if (keep >= s->n_slots) continue;
        for (int k = 0; k < c->n_layers; k++) {
            const cache_layer *l = &c->layers[k];
            if (!l->evicts) continue;
            for (; unit < base + l->shape.n_kv_heads; unit = ingot_team_next(team, 0)) {
                const eviction e = {c, l, c->segments[i].seq, unit - base, keep, protect_from, &c->workers[team->rank]};
                evict_head(&e, s->n_slots);
            }
            base += l->shape.n_kv_heads;
        }
    }
    ingot_team_barrier(team);
}

void ingot_cache_evict(ingot_cache *c) {
    bool any = false;
    for (int i = 0; i < c->n_segments; i++) any |= allowed_slots(c, &c->seqs[c->segments[i].seq]) < c->seqs[c->segments[i].seq].n_slots;
    if (!any) return;
    ingot_pool_run(c->device->pool, evict_team, c);
    for (int i = 0; i < c->n_segments; i++) {
        cache_seq *s = &c->seqs[c->segments[i].seq];
        const int keep = allowed_slots(c, s);
        if (keep >= s->n_slots) continue;
        ingot_cache_pages_drop(c, c->evict_group, c->segments[i].seq, div_up(keep, PAGE), div_up(s->n_slots, PAGE));
        s->n_slots = keep;
        s->evicted = true;
    }
}
