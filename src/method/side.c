/* One side of a plan: whether it can store a vector, and at how many bits. */
#include "../base/error.h"
#include "method.h"

static int effective_group(const ingot_side_plan *side, int dim) { return side->group < dim ? side->group : dim; }

static ingot_status check_group(const ingot_codec *codec, int group) {
    if (!codec->groups) {
        if (group) return ingot_fail(INGOT_E_INVALID, "%s has no option group (group=%d was given)", codec->name, group);
        return INGOT_OK;
    }
    for (const int *g = codec->groups; *g; g++)
        if (*g == group) return INGOT_OK;
    return ingot_fail(INGOT_E_INVALID, "group=%d is not one that %s has (%s)", group, codec->name, codec->options);
}

ingot_status ingot_side_plan_check(const ingot_side_plan *side, int dim) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    const ingot_transform *transform = ingot_transform_get(side->transform);
    if (!codec) return ingot_fail(INGOT_E_INVALID, "codec %d does not exist", side->codec);
    if (!transform) return ingot_fail(INGOT_E_INVALID, "transform %d does not exist", side->transform);
    INGOT_TRY(check_group(codec, side->group));
    const char *why = codec->check(dim, effective_group(side, dim));
    if (why) return ingot_fail(INGOT_E_UNSUPPORTED, "%s cannot store vectors of %d elements: %s", codec->name, dim, why);
    why = transform->check(dim);
    if (why) return ingot_fail(INGOT_E_UNSUPPORTED, "%s cannot transform vectors of %d elements: %s", transform->name, dim, why);
    return INGOT_OK;
}

double ingot_side_plan_bits(const ingot_side_plan *side, int dim) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    return 8.0 * (double)codec->row_bytes(dim, effective_group(side, dim)) / dim;
}
