/* The registries of codecs, transforms, policies and methods, and the plan that composes them.
 * C11, C++-clean. Everything returned by the list functions is static and immutable; thread-safe. */
#ifndef INGOT_METHOD_H
#define INGOT_METHOD_H
#include <ingot/calibration.h>
#include <ingot/status.h>
#include <ingot/types.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum ingot_part_kind {
    INGOT_PART_METHOD,    /* a name a user gives to --kv */
    INGOT_PART_CODEC,     /* a number format of one vector */
    INGOT_PART_TRANSFORM, /* what is done to a vector before encoding */
    INGOT_PART_POLICY     /* which tokens stay */
} ingot_part_kind;

/* One registry row as shown to users. */
typedef struct ingot_part_info {
    const char *name;
    ingot_part_kind kind;
    double bits_per_element; /* ingot_part_bits of vectors of 128 elements */
    const char *description;
    const char *options;    /* such as "group=32|64|128"; "" when it has none. Any method takes transforms as well */
    const char *parts;      /* methods: what they are made of, such as "tq3,center,hadamard / tq3,hadamard"; "" for others */
    const char *source;     /* where it comes from, such as "arXiv 2402.02750"; "" when there is nothing to cite */
    const char *limits;     /* what to know before relying on it; "" when there is nothing */
    const char *stage;      /* transforms: "center", "scale" or "rotate", applied in this order, one of each at most; "" for others */
    unsigned sides;         /* where it can be used: bit 0 keys, bit 1 values */
    bool needs_calibration;
    int window;             /* methods: newest tokens that stay exact unless told otherwise */
} ingot_part_info;

/* Number of rows of one kind. */
int ingot_part_count(ingot_part_kind kind);
/* Row `i` of a kind; NULL when out of range. */
const ingot_part_info *ingot_part_get(ingot_part_kind kind, int i);
/* Stored bits per element of vectors of `dim` elements with the row's default options, metadata included; of a method: the mean of K and V. 0 where it has
 * no meaning, and where such vectors cannot be stored. */
double ingot_part_bits(ingot_part_kind kind, int i, int dim);
/* Whether a row can do vectors of `dim` elements, with its default options; INGOT_E_UNSUPPORTED saying why not. */
ingot_status ingot_part_check(ingot_part_kind kind, int i, int dim);

/* What one side (K or V) of the cache is stored as. */
typedef struct ingot_side_plan {
    int codec;           /* row of INGOT_PART_CODEC */
    unsigned transforms; /* bit i: row i of INGOT_PART_TRANSFORM; applied in the order of their stages */
    int group;           /* elements per scale along the channels, or tokens per scale; 0 where the codec fixes it */
    int variant;         /* index of the codec's variant; 0 where it has none */
} ingot_side_plan;

/* Which tokens stay. The budget counts tokens of one sequence in a layer without sliding window, exact ones included. A share that would be less than what
 * sinks, window, recent tokens, what waits for its block and one block more take means as much as those take. */
typedef struct ingot_policy_plan {
    int policy;  /* row of INGOT_PART_POLICY */
    int budget;  /* tokens; 0: none, or given as a share */
    int permill; /* share of the tokens seen, in thousandths; 0: none, or given in tokens */
    int recent;  /* newest packed tokens that are never evicted (beside the exact window); -1: a quarter of the budget less what the window covers */
} ingot_policy_plan;

/* Layers [first, last] that are stored otherwise. */
typedef struct ingot_layer_plan {
    int first, last;
    ingot_side_plan k, v;
} ingot_layer_plan;
#define INGOT_MAX_LAYER_PLANS 16

/* A whole cache plan: K, V, exact recent window, exact first tokens, policy, layers that differ. */
typedef struct ingot_plan {
    ingot_side_plan k, v;
    int window; /* newest tokens kept exact (f16), 0 or more */
    int sinks;  /* first tokens kept exact (f16), 0 or more */
    bool fast_attention; /* decode attention may take 8-bit queries and weights where codes are integers: relative error about 1e-2 instead of 1e-4 */
    ingot_policy_plan policy;
    int n_layer_plans;
    ingot_layer_plan layer_plans[INGOT_MAX_LAYER_PLANS]; /* a later one wins */
} ingot_plan;

/* What a user says about a cache. A side is METHOD[,OPTION=VALUE][,TRANSFORM]..., such as "int4,group=64,hadamard"; "none" takes a method's own
 * transforms away, and a transform replaces one of the same stage. */
typedef struct ingot_plan_spec {
    const char *kv;     /* a side for K and V, or the spelling of ingot_plan_print; NULL is "f16" */
    const char *k, *v;  /* a side that replaces one of them; NULL keeps it */
    const char *policy; /* NAME[,budget=N|N%][,recent=N]; NULL keeps what kv says */
    const char *layers; /* FIRST[-LAST][,...]=SIDE, or =SIDE/SIDE for K and V, several apart by ";"; NULL keeps what kv says */
    int window, sinks;  /* -1 keeps what kv says */
    const char *attn;   /* "precise" (the default) or "fast"; NULL keeps what kv says */
} ingot_plan_spec;

/* Errors: INGOT_E_INVALID naming the unknown word and listing the valid ones, or the range. */
ingot_status ingot_plan_parse(ingot_plan *out, const ingot_plan_spec *spec);

/* Writes the one canonical spelling, such as "int4,group=64" or "k=q8_0 v=int4,group=64 window=128 sinks=4 attn=fast policy=qfilters,budget=1024
 * layers=0-1,28-29=q8_0"; parts that are the default are left out; ingot_plan_parse reads it back as `kv`. Always NUL-terminated; returns `buf`. */
const char *ingot_plan_print(const ingot_plan *plan, char *buf, size_t cap);
#define INGOT_PLAN_TEXT_BYTES 4096 /* holds every spelling */

/* Brings a plan into its form for a model whose largest vectors have these sizes: groups beyond them mean what one of the whole vector means, and become the
 * smallest such. ingot_cache_plan gives plans in this form. */
void ingot_plan_fit(ingot_plan *plan, int k_dim, int v_dim);

/* The sides of one layer. */
const ingot_side_plan *ingot_plan_side(const ingot_plan *plan, int layer, bool value);

/* Whether a side plan can store vectors of `dim` elements on the K or V side; the message says why not. */
ingot_status ingot_side_plan_check(const ingot_side_plan *side, bool value, int dim);

/* Claimed stored bits per element of one side for vectors of `dim` elements, metadata included. */
double ingot_side_plan_bits(const ingot_side_plan *side, bool value, int dim);

/* Tokens that a sequence must have before any of them is packed, whatever window and budget say, because the mean of its first keys is subtracted; 0: none. */
int ingot_plan_mean_tokens(const ingot_plan *plan);

/* Whether the plan needs a calibration; *what names the first part that does (static), NULL allowed. */
bool ingot_plan_needs_calibration(const ingot_plan *plan, const char **what);

#ifdef __cplusplus
}
#endif
#endif
