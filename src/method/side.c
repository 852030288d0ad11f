/* One side of a plan: whether it can store a vector, at how many bits, and what it needs. */
#include "../base/error.h"
#include "method.h"
#include <stdio.h>
#include <string.h>

static const char *side_name(bool value) { return value ? "values" : "keys"; }

ingot_kv_fmt ingot_side_plan_fmt(const ingot_side_plan *side, bool value, int dim) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    const bool tokens = codec && codec->group_is_tokens && !value;
    return (ingot_kv_fmt){.codec = side->codec, .group = tokens || side->group < dim ? side->group : dim, .dim = dim, .variant = side->variant,
                          .side = value ? INGOT_SIDE_V : INGOT_SIDE_K};
}

const char *ingot_group_refused(const ingot_codec *codec, int id, int group, bool value) {
    const ingot_kv_fmt f = {.codec = id, .group = group, .dim = INGOT_MAX_HEAD_DIM, .side = value ? INGOT_SIDE_V : INGOT_SIDE_K};
    return codec->check(&f);
}

static ingot_status check_group(const ingot_codec *codec, int id, int group, bool value) {
    if (!codec->groups) {
        if (group) return ingot_fail(INGOT_E_INVALID, "%s has no option group (group=%d was given)", codec->name, group);
        return INGOT_OK;
    }
    bool known = false;
    for (const int *g = codec->groups; *g; g++) known |= *g == group;
    const char *why = known ? ingot_group_refused(codec, id, group, value) : NULL;
    if (why) return ingot_fail(INGOT_E_INVALID, "group=%d of %s: %s", group, codec->name, why);
    if (known) return INGOT_OK;
    return ingot_fail(INGOT_E_INVALID, "group=%d is not one that %s has (%s)", group, codec->name, codec->options);
}

static ingot_status check_variant(const ingot_codec *codec, int variant) {
    int n = 0;
    while (codec->variants && codec->variants[n]) n++;
    if (variant < 0 || variant >= (n ? n : 1)) return ingot_fail(INGOT_E_INVALID, "variant %d is not one of the %d that %s has", variant, n ? n : 1, codec->name);
    return INGOT_OK;
}

const char *ingot_transform_names(unsigned transforms, char *buf, size_t cap) {
    size_t n = 0;
    snprintf(buf, cap, "none");
    for (int stage = 0; stage < INGOT_N_STAGES; stage++)
        for (int t = 0; t < INGOT_N_TRANSFORMS; t++)
            if (transforms >> t & 1 && (int)ingot_transform_get(t)->stage == stage && n < cap)
                n += (size_t)snprintf(buf + n, cap - n, "%s%s", n ? "," : "", ingot_transform_get(t)->name);
    return buf;
}

static ingot_status check_transforms(unsigned transforms, bool value, int dim) {
    const ingot_transform *of_stage[INGOT_N_STAGES] = {NULL};
    if (transforms >> INGOT_N_TRANSFORMS) return ingot_fail(INGOT_E_INVALID, "transforms %#x: there are only %d", transforms, INGOT_N_TRANSFORMS);
    if (transforms & INGOT_BIT(NONE)) return ingot_fail(INGOT_E_INVALID, "the bit of the transform none is set; no transform is no bit");
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
        if (!(transforms >> i & 1)) continue;
        const ingot_transform *t = ingot_transform_get(i), **other = &of_stage[t->stage];
        if (!(t->sides >> value & 1)) return ingot_fail(INGOT_E_INVALID, "%s is for %s only", t->name, side_name(!value));
        if (*other) return ingot_fail(INGOT_E_INVALID, "%s and %s exclude each other", (*other)->name, t->name);
        *other = t;
        const char *why = t->check(dim);
        if (why) return ingot_fail(INGOT_E_UNSUPPORTED, "%s cannot transform vectors of %d elements: %s", t->name, dim, why);
    }
    return INGOT_OK;
}

/* Codes that were learned in one frame mean nothing in another. */
static ingot_status check_frame(const ingot_codec *codec, unsigned transforms, bool value) {
    const char *frame = codec->frame[value];
    char have[256];
    unsigned wanted = 0;
    if (!frame) return INGOT_OK;
    for (const char *s = frame; *s;) {
        const size_t n = strcspn(s, ",");
        for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
            const char *name = ingot_transform_get(i)->name;
            if (strlen(name) == n && !memcmp(name, s, n)) wanted |= 1u << i;
        }
        s += n + (s[n] == ',');
    }
    if (wanted == transforms) return INGOT_OK;
    return ingot_fail(INGOT_E_INVALID, "%s was calibrated for %s %s%s and cannot be used with the transforms %s", codec->name, side_name(value),
                      *frame ? "behind " : "without transforms", frame, ingot_transform_names(transforms, have, sizeof have));
}

ingot_status ingot_side_plan_check(const ingot_side_plan *side, bool value, int dim) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    if (!codec) return ingot_fail(INGOT_E_INVALID, "codec %d does not exist", side->codec);
    if (!(codec->sides >> value & 1)) return ingot_fail(INGOT_E_INVALID, "%s is for %s only", codec->name, side_name(!value));
    INGOT_TRY(check_group(codec, side->codec, side->group, value));
    INGOT_TRY(check_variant(codec, side->variant));
    const ingot_kv_fmt f = ingot_side_plan_fmt(side, value, dim);
    const char *why = codec->check(&f);
    if (why) return ingot_fail(INGOT_E_UNSUPPORTED, "%s cannot store vectors of %d elements: %s", codec->name, dim, why);
    INGOT_TRY(check_transforms(side->transforms, value, dim));
    return check_frame(codec, side->transforms, value);
}

/* Groups that are no smaller than the vectors are all the same: the smallest of those stands for them. */
static void fit_side(ingot_side_plan *side, bool value, int dim) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    if (!codec || !codec->groups || (codec->group_is_tokens && !value) || side->group < dim) return;
    for (const int *g = codec->groups; *g; g++)
        if (*g >= dim && *g < side->group) side->group = *g;
}

void ingot_plan_fit(ingot_plan *plan, int k_dim, int v_dim) {
    fit_side(&plan->k, false, k_dim), fit_side(&plan->v, true, v_dim);
    for (int i = 0; i < plan->n_layer_plans; i++) fit_side(&plan->layer_plans[i].k, false, k_dim), fit_side(&plan->layer_plans[i].v, true, v_dim);
}

double ingot_side_plan_bits(const ingot_side_plan *side, bool value, int dim) {
    const ingot_kv_fmt f = ingot_side_plan_fmt(side, value, dim);
    return 8.0 * (double)ingot_codec_get(side->codec)->block_bytes(&f) / ((double)ingot_codec_tokens(&f) * dim);
}

const char *ingot_side_plan_needs(const ingot_side_plan *side) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    if (codec && codec->needs != INGOT_CAL_NONE) return codec->name;
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++)
        if (side->transforms >> i & 1 && ingot_transform_get(i)->needs != INGOT_CAL_NONE) return ingot_transform_get(i)->name;
    return NULL;
}

bool ingot_side_plan_centred(const ingot_side_plan *side) {
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++)
        if (side->transforms >> i & 1u && ingot_transform_get(i)->running_mean) return true;
    return false;
}

int ingot_plan_mean_tokens(const ingot_plan *plan) {
    bool centred = ingot_side_plan_centred(&plan->k);
    for (int i = 0; i < plan->n_layer_plans; i++) centred |= ingot_side_plan_centred(&plan->layer_plans[i].k);
    return centred ? INGOT_MEAN_TOKENS : 0;
}

bool ingot_plan_needs_calibration(const ingot_plan *plan, const char **what) {
    const ingot_policy *policy = ingot_policy_get(plan->policy.policy);
    const char *name = ingot_side_plan_needs(&plan->k);
    if (!name) name = ingot_side_plan_needs(&plan->v);
    for (int i = 0; !name && i < plan->n_layer_plans; i++) {
        name = ingot_side_plan_needs(&plan->layer_plans[i].k);
        if (!name) name = ingot_side_plan_needs(&plan->layer_plans[i].v);
    }
    if (!name && policy && policy->needs != INGOT_CAL_NONE) name = policy->name;
    if (what) *what = name;
    return name != NULL;
}

const ingot_side_plan *ingot_plan_side(const ingot_plan *plan, int layer, bool value) {
    for (int i = plan->n_layer_plans - 1; i >= 0; i--) {
        const ingot_layer_plan *l = &plan->layer_plans[i];
        if (layer >= l->first && layer <= l->last) return value ? &l->v : &l->k;
    }
    return value ? &plan->v : &plan->k;
}
