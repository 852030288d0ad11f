/* Scores from attention: the weights that a step's newest queries give to every token that is held, sinks excepted. Keys are read as they are stored, so that
 * a token which its queries saw exact is judged by its packed form once it is packed. */
#include "cache_impl.h"
#include <math.h>

typedef struct watch {
    const layer_job *j;
    const segment *s;
    int head, from; /* queries [from, s->n) of the segment */
    worker *w;
} watch;

int ingot_cache_watch_units(const layer_job *j, const segment *s) {
    (void)s;
    return j->l->shape.n_kv_heads;
}

static const float *query_of(const watch *a, int i, int g) {
    const layer_job *j = a->j;
    const int dim = j->l->shape.k_dim;
    const ptrdiff_t width = (ptrdiff_t)j->l->n_group * dim;
    const float *q = j->copy_q ? j->c->q_copy + (ptrdiff_t)(a->s->row + i) * j->l->shape.n_kv_heads * width : j->q + j->c->order[a->s->row + i] * j->q_stride;
    return q + a->head * width + g * dim;
}

/* The score of a token at `position` with key k [k_dim] in the stored frame, once the step's queries have seen it. */
static float watched(const watch *a, float score, int position, const float *k) {
    const cache_layer *l = a->j->l;
    const ingot_policy *policy = a->j->c->policy;
    for (int i = max_int(a->from, position - a->s->first); i < a->s->n; i++) {
        score *= policy->decay;
        for (int g = 0; g < l->n_group; g++) {
            const size_t row = (size_t)(a->s->row + i) * (size_t)l->shape.n_heads + (size_t)(a->head * l->n_group + g);
            const float *q = query_of(a, i, g);
            float dot = 0.0f;
            for (int e = 0; e < l->shape.k_dim; e++) dot += q[e] * k[e];
            score += expf(dot * l->shape.scale - a->j->c->row_m[row]) / a->j->c->row_l[row];
        }
    }
    return score;
}

static void watch_packed(const watch *a) {
    const ingot_cache *c = a->j->c;
    const cache_layer *l = a->j->l;
    const cache_side *keys = &l->side[INGOT_SIDE_K][a->head];
    const ingot_kv_fmt *f = &keys->fmt;
    const int tokens = ingot_codec_tokens(f), dim = f->dim, first = c->n_sinks - c->slot_base;
    const float *mean = l->centred ? ingot_cache_mean(c, l, a->s->seq, a->head) : NULL;
    for (int slot = first; slot < a->s->slots_to; slot++) {
        if (slot == first || slot % tokens == 0) {
            const uint8_t *tile = ingot_cache_packed_tile(c, l, a->s->seq, a->head, slot / PAGE);
            keys->ops->get_block(f, tile, slot % PAGE / tokens * tokens, a->w->block);
            ingot_codec_get(f->codec)->decode(f, a->w->block, a->w->rows);
        }
        float *k = a->w->rows + (ptrdiff_t)(slot % tokens) * dim;
        for (int i = 0; mean && i < dim; i++) k[i] += mean[i];
        page_meta *meta = ingot_cache_page_meta(c, l, a->s->seq, a->head, slot / PAGE);
        meta->score[slot % PAGE] = watched(a, meta->score[slot % PAGE], meta->position[slot % PAGE], k);
    }
}

static void watch_ring(const watch *a) {
    const int end = a->s->first + a->s->n;
    for (int p = max_int(a->s->packed_to, a->j->c->n_sinks); p < end; p++) {
        float *score = ingot_cache_ring_score(a->j->c, a->j->l, a->s->seq, a->head, p);
        ingot_cache_ring_get(a->j->c, a->j->l, a->s->seq, INGOT_SIDE_K, a->head, p, a->w->block, a->w->rows);
        *score = watched(a, *score, p, a->w->rows);
    }
}

void ingot_cache_watch_unit(const layer_job *j, const segment *s, int head, worker *w) {
    const watch a = {j, s, head, max_int(0, s->n - j->c->policy->observers), w};
    watch_packed(&a);
    watch_ring(&a);
}
