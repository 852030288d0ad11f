/* One layer of a step: its phases, shared out among the threads of a team. */
#include "cache_impl.h"
#include "../base/error.h"

/* Walks numbered units of all segments in order: unit i belongs to the segment that `at` stands on. */
typedef struct cursor {
    int segment, base;
} cursor;

typedef int (*count_fn)(const layer_job *j, const segment *s);

/* The segment of unit i (not before earlier ones), or NULL past the end; *unit is its number within the segment. */
static const segment *seek(const layer_job *j, cursor *at, int i, count_fn count, int *unit) {
    while (at->segment < j->c->n_segments) {
        const segment *s = &j->c->segments[at->segment];
        const int n = count(j, s);
        if (i < at->base + n) {
            *unit = i - at->base;
            return s;
        }
        at->base += n;
        at->segment++;
    }
    return NULL;
}

typedef void (*unit_fn)(const layer_job *j, const segment *s, int unit, worker *w);

/* One phase: this thread's share of the units of all segments. */
static void run_phase(const layer_job *j, const ingot_team *team, int slot, count_fn count, unit_fn run_unit) {
    cursor at = {0, 0};
    const segment *s;
    int unit;
    while ((s = seek(j, &at, ingot_team_next(team, slot), count, &unit))) run_unit(j, s, unit, &j->c->workers[team->rank]);
}

static int merge_units(const layer_job *j, const segment *s) { return j->out ? ingot_cache_merge_units(j, s) : 0; }

static int finish_units(const layer_job *j, const segment *s) {
    return merge_units(j, s) + (j->c->ring_pages ? j->l->shape.n_kv_heads : 0);
}

static void finish_unit(const layer_job *j, const segment *s, int unit, worker *w) {
    const int n_merge = merge_units(j, s);
    if (unit < n_merge)
        ingot_cache_merge_unit(j, s, unit);
    else
        ingot_cache_ring_update(j, s, unit - n_merge, w);
}

static bool all_contiguous(const ingot_cache *c) {
    for (int i = 0; i < c->n_segments; i++)
        if (!c->segments[i].contiguous) return false;
    return true;
}

static void run(const layer_job *j, const ingot_team *team) {
    if (atomic_load(&j->c->bad) != NO_BAD) return; /* an earlier layer of the step failed, and is the one to be named */
    if (j->c->any_means && j->l->centred) {
        ingot_team_start(team, 1);
        run_phase(j, team, 1, ingot_cache_mean_units, ingot_cache_mean_unit);
    }
    ingot_team_start(team, 0);
    run_phase(j, team, 0, ingot_cache_store_units, ingot_cache_store_unit);
    ingot_team_start(team, 1); /* all is stored, or the failure is known to all */
    if (atomic_load(&j->c->bad) == NO_BAD) {
        if (j->out) run_phase(j, team, 1, ingot_cache_attend_units, ingot_cache_attend_unit);
        if (j->c->any_splits || j->c->ring_pages) {
            ingot_team_start(team, 0);
            run_phase(j, team, 0, finish_units, finish_unit);
        }
        if (j->out && j->l->evicts && j->c->policy->observers) {
            ingot_team_start(team, 1);
            run_phase(j, team, 1, ingot_cache_watch_units, ingot_cache_watch_unit);
        }
        if (team->rank == 0) j->l->done = true;
    } else if (team->rank == 0) {
        j->c->n_bad = ingot_cache_count_bad(j);
    }
    ingot_team_barrier(team);
}

void ingot_cache_layer_team(ingot_cache *c, int layer, const float *q, ptrdiff_t q_stride, const float *k, ptrdiff_t k_stride,
                            const float *v, ptrdiff_t v_stride, float *out, ptrdiff_t out_stride, const ingot_team *team) {
    const layer_job j = {
        .c = c, .l = &c->layers[layer], .q = q, .x = {k, v}, .q_stride = q_stride, .x_stride = {k_stride, v_stride},
        .out = out, .out_stride = out_stride,
        .copy_q = c->layers[layer].side[INGOT_SIDE_K]->chain.n || !all_contiguous(c),
    };
    run(&j, team);
}

void ingot_cache_store_team(ingot_cache *c, int layer, const float *k, ptrdiff_t k_stride, const float *v, ptrdiff_t v_stride, const ingot_team *team) {
    const layer_job j = {.c = c, .l = &c->layers[layer], .x = {k, v}, .x_stride = {k_stride, v_stride}};
    run(&j, team);
}

ingot_status ingot_cache_step_status(const ingot_cache *c) {
    const uint64_t bad = atomic_load(&c->bad);
    if (bad == NO_BAD) return INGOT_OK;
    return ingot_fail(INGOT_E_INVALID, "%s of layer %d, KV head %d, token %d of the step is not finite (%d vector%s of this layer and step)", bad & 1 ? "v" : "k",
                      atomic_load(&c->bad_layer), (int)((bad & 0xffffffffu) >> 1), (int)(bad >> 32), c->n_bad, c->n_bad == 1 ? "" : "s");
}

typedef struct call {
    ingot_cache *c;
    int layer;
    const float *q, *k, *v;
    float *out;
} call;

static void call_team(const ingot_team *team, void *arg) {
    const call *a = arg;
    const ingot_layer_shape *s = &a->c->layers[a->layer].shape;
    const ptrdiff_t kv = s->n_kv_heads, heads = s->n_heads;
    ingot_cache_layer_team(a->c, a->layer, a->q, heads * s->k_dim, a->k, kv * s->k_dim, a->v, kv * s->v_dim, a->out, heads * s->v_dim, team);
}

ingot_status ingot_cache_layer(ingot_cache *c, int layer, const float *q, const float *k, const float *v, float *out) {
    if (!c->in_step) return ingot_fail(INGOT_E_INVALID, "a layer was run outside of a step");
    if (layer < 0 || layer >= c->n_layers) return ingot_fail(INGOT_E_INVALID, "layer %d of a cache of %d", layer, c->n_layers);
    if (c->layers[layer].done) return ingot_fail(INGOT_E_INVALID, "layer %d was run twice in one step", layer);
    INGOT_TRY(ingot_cache_step_status(c));
    call a = {c, layer, q, k, v, out};
    ingot_pool_run(c->device->pool, call_team, &a);
    return ingot_cache_step_status(c);
}
