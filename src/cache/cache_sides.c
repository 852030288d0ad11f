/* How every side of every head is stored: formats, transforms, and what they take from the calibration. */
#include "../base/alloc.h"
#include "../base/error.h"
#include "cache_impl.h"

static size_t count_heads(const ingot_cache *c) {
    size_t n = 0;
    for (int i = 0; i < c->n_layers; i++) n += (size_t)c->layers[i].shape.n_kv_heads;
    return n;
}

static int dim_of(const cache_layer *l, int side) { return side ? l->shape.v_dim : l->shape.k_dim; }

/* The array that a part needs, with the wanted number of elements. */
static ingot_status take(ingot_cache *c, const ingot_calibration *cal, const char *part, int kind, int bits, int group, int side, int layer, int head, size_t wanted, const float **out) {
    size_t n = 0;
    if (!cal) return ingot_fail(INGOT_E_INVALID, "%s needs a calibration of the model, and none was given", part);
    *out = ingot_calibration_get(cal, kind, bits, group, side, layer, head, &n);
    if (!*out) return ingot_fail(INGOT_E_INVALID, "%s: the calibration has nothing for %s of layer %d, KV head %d", part, side ? "values" : "keys", layer, head);
    if (n != wanted)
        return ingot_fail(INGOT_E_INVALID, "%s: the calibration of layer %d, KV head %d has %zu elements, %zu are needed: it was made for another model", part, layer, head, n, wanted);
    c->method_bytes += n * sizeof **out;
    return INGOT_OK;
}

static ingot_status set_chain(ingot_cache *c, const ingot_calibration *cal, ingot_transform_chain *chain, unsigned transforms, int side, int layer, int head, int dim) {
    *chain = (ingot_transform_chain){.dim = dim};
    for (int stage = 0; stage < INGOT_N_STAGES; stage++)
        for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
            const ingot_transform *t = ingot_transform_get(i);
            if (!(transforms >> i & 1u) || (int)t->stage != stage || !t->forward) continue;
            const size_t n = (size_t)dim * (t->needs == INGOT_CAL_WHITEN ? 2 * (size_t)dim : 1);
            if (t->needs != INGOT_CAL_NONE) INGOT_TRY(take(c, cal, t->name, t->needs, 0, 0, side, layer, head, n, &chain->cal[chain->n]));
            chain->step[chain->n++] = t;
        }
    return INGOT_OK;
}

/* Memory for the codec params of one side of one head, a multiple of 64. */
static size_t params_bytes(const ingot_kv_fmt *f) {
    const size_t own = (sizeof(ingot_codec_params) + 63) & ~(size_t)63;
    return ingot_codec_get(f->codec)->needs == INGOT_CAL_NONE ? 0 : own + ((ingot_codec_params_bytes(f) + 63) & ~(size_t)63);
}

static ingot_status set_params(ingot_cache *c, const ingot_calibration *cal, ingot_kv_fmt *f, int layer, int head, uint8_t *memory) {
    const ingot_codec *codec = ingot_codec_get(f->codec);
    const float *book = NULL;
    INGOT_TRY(take(c, cal, codec->name, codec->needs, codec->code_bits, f->group, f->side, layer, head, ((size_t)1 << codec->code_bits) * (size_t)f->group, &book));
    ingot_codec_params *params = (ingot_codec_params *)(void *)memory;
    const char *why = ingot_codec_params_fill(f, book, memory + ((sizeof *params + 63) & ~(size_t)63), params);
    if (why) return ingot_fail(INGOT_E_INVALID, "%s: the codebook of layer %d, KV head %d: %s", codec->name, layer, head, why);
    f->params = params;
    return INGOT_OK;
}

static ingot_status set_all_params(ingot_cache *c, const ingot_calibration *cal) {
    size_t bytes = 0;
    for (int i = 0; i < c->n_layers; i++)
        for (int side = 0; side < N_SIDES; side++) bytes += (size_t)c->layers[i].shape.n_kv_heads * params_bytes(&c->layers[i].side[side]->fmt);
    if (!bytes) return INGOT_OK;
    uint8_t *at = c->params = ingot_alloc(bytes, INGOT_MEM_OTHER);
    if (!at) return ingot_fail(INGOT_E_NOMEM, "no memory for codebooks (%zu bytes)", bytes);
    c->method_bytes += bytes;
    for (int i = 0; i < c->n_layers; i++)
        for (int side = 0; side < N_SIDES; side++)
            for (int h = 0; h < c->layers[i].shape.n_kv_heads; h++) {
                ingot_kv_fmt *f = &c->layers[i].side[side][h].fmt;
                const size_t n = params_bytes(f);
                if (n) INGOT_TRY(set_params(c, cal, f, i, h, at));
                at += n;
            }
    return INGOT_OK;
}

ingot_status ingot_cache_sides_create(ingot_cache *c, const ingot_calibration *cal) {
    c->sides = ingot_alloc_array(count_heads(c) * N_SIDES, sizeof *c->sides, INGOT_MEM_OTHER);
    if (!c->sides) return ingot_fail(INGOT_E_NOMEM, "no memory for the formats of %d layers", c->n_layers);
    cache_side *at = c->sides;
    for (int i = 0; i < c->n_layers; i++) {
        cache_layer *l = &c->layers[i];
        l->centred = ingot_side_plan_centred(ingot_plan_side(&c->plan, i, false));
        l->evicts = c->policy->evicts && !l->shape.sliding_window;
        for (int side = 0; side < N_SIDES; side++) {
            l->side[side] = at;
            for (int h = 0; h < l->shape.n_kv_heads; h++, at++) {
                at->fmt = ingot_side_plan_fmt(ingot_plan_side(&c->plan, i, side), side, dim_of(l, side));
                at->fmt.adjacent_pairs = l->shape.adjacent_pairs;
                at->ops = ingot_backend_tile(c->backend, side, &at->fmt);
                if (l->evicts && side == INGOT_SIDE_K && c->policy->needs != INGOT_CAL_NONE)
                    INGOT_TRY(take(c, cal, c->policy->name, c->policy->needs, 0, 0, side, i, h, (size_t)at->fmt.dim, &at->policy_cal));
                INGOT_TRY(set_chain(c, cal, &at->chain, ingot_plan_side(&c->plan, i, side)->transforms, side, i, h, at->fmt.dim));
            }
        }
    }
    return set_all_params(c, cal);
}
