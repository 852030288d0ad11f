/* Methods: named compositions of the registries' parts. One file per method, one line in methods.def. */
#ifndef INGOT_METHOD_INTERNAL_H
#define INGOT_METHOD_INTERNAL_H
#include "../codec/codec.h"
#include "../policy/policy.h"
#include "../transform/transform.h"
#include <ingot/method.h>
#include <stdint.h>

/* A side takes codec, transforms, group and variant from the method named for it; the plan takes the rest from the method named for both sides. */
typedef struct ingot_method_side {
    int codec;
    unsigned transforms; /* bits of the registry's rows: INGOT_BIT(HADAMARD) */
    int group;           /* 0: the codec's default */
    const char *variant; /* NULL: the codec's default for the side */
} ingot_method_side;
#define INGOT_BIT(transform) (1u << INGOT_TRANSFORM_##transform)

typedef struct ingot_method {
    const char *name, *description;
    const char *source; /* where it comes from, such as "arXiv 2402.02750"; NULL: of this project, or nobody's */
    const char *limits; /* what a user should know before relying on it; NULL: nothing */
    ingot_method_side k, v;
    int window, sinks;
} ingot_method;

const ingot_method *ingot_method_get(int i); /* NULL when out of range */
int ingot_method_find(const char *name);     /* -1 when unknown */

/* The format of vectors of `dim` elements on one side of a plan, without params. */
ingot_kv_fmt ingot_side_plan_fmt(const ingot_side_plan *side, bool value, int dim);
/* What forbids this group on a side, whatever the head size; NULL: nothing. */
const char *ingot_group_refused(const ingot_codec *codec, int id, int group, bool value);
/* The first part of a side that needs a calibration; NULL when none does. */
const char *ingot_side_plan_needs(const ingot_side_plan *side);
/* "a,b" in the order in which they are applied; "none" for none. Returns `buf`. */
const char *ingot_transform_names(unsigned transforms, char *buf, size_t cap);
/* Whether a plan's counts, policy and layers can be, for a model of n_layers; INGOT_E_INVALID naming what cannot. Sides: ingot_side_plan_check. */
ingot_status ingot_plan_check(const ingot_plan *p, int n_layers);

/* What a budget must at least allow so that a policy can keep it: sinks, window, what waits for a block of `block` tokens to be full, `recent` newest packed
 * tokens, and a block (a token, where blocks are of one) to choose. A block that the sinks reach into always stays. */
int64_t ingot_plan_least_budget(const ingot_plan *p, int block, int recent);
/* Whether it is packed less the mean of the sequence's first vectors. */
bool ingot_side_plan_centred(const ingot_side_plan *side);

/* Tokens that a sequence with centred keys must have before any are packed: the mean is taken of them. */
enum { INGOT_MEAN_TOKENS = 256 };
/* The largest numbers of tokens that a plan may ask for. */
enum { INGOT_MAX_EXACT_WINDOW = 65536, INGOT_MAX_EXACT_SINKS = 4096, INGOT_MAX_BUDGET = 1 << 28 };
#endif
