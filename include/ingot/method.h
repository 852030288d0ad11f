/* The registries of codecs, transforms, policies and methods, and the plan that composes them.
 * C11, C++-clean. Everything returned by the list functions is static and immutable; thread-safe. */
#ifndef INGOT_METHOD_H
#define INGOT_METHOD_H
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

/* One registry row as shown to users. `bits_per_element` is the stored bits per element of a
 * vector of 128 elements with the part's default options, metadata included; 0 where it has no meaning. */
typedef struct ingot_part_info {
    const char *name;
    ingot_part_kind kind;
    double bits_per_element;
    const char *description;
    const char *options; /* such as "group=32|64|128"; "" when it has none */
} ingot_part_info;

/* Number of rows of one kind. */
int ingot_part_count(ingot_part_kind kind);
/* Row `i` of a kind; NULL when out of range. */
const ingot_part_info *ingot_part_get(ingot_part_kind kind, int i);

/* What one side (K or V) of the cache is stored as. */
typedef struct ingot_side_plan {
    int codec;     /* row of INGOT_PART_CODEC */
    int transform; /* row of INGOT_PART_TRANSFORM */
    int group;     /* elements per scale along the channels; 0 where the codec fixes it */
} ingot_side_plan;

/* A whole cache plan: K, V, exact recent window, exact first tokens, policy. */
typedef struct ingot_plan {
    ingot_side_plan k, v;
    int window; /* newest tokens kept exact (f16), 0 or more */
    int sinks;  /* first tokens kept exact (f16), 0 or more */
    int policy; /* row of INGOT_PART_POLICY */
} ingot_plan;

/* Parses a plan. A side is METHOD[,group=N][,TRANSFORM], such as "int4,group=64,hadamard". `kv` is a side for both K and V,
 * or the spelling of ingot_plan_print; NULL is "f16". `k` and `v` are sides (NULL to keep) that replace one of them.
 * `window` and `sinks` above 0 replace what `kv` says.
 * Errors: INGOT_E_INVALID naming the unknown word and listing the valid ones, or the range. */
ingot_status ingot_plan_parse(ingot_plan *out, const char *kv, const char *k, const char *v, int window, int sinks);

/* Writes the one canonical spelling, such as "int4,group=64" or "k=q8_0 v=int4,group=64 window=128 sinks=4";
 * parts that are the default are left out; ingot_plan_parse(kv) reads it back. Always NUL-terminated; returns `buf`. */
const char *ingot_plan_print(const ingot_plan *plan, char *buf, size_t cap);

/* Whether a side plan can store vectors of `dim` elements; the message says why not. */
ingot_status ingot_side_plan_check(const ingot_side_plan *side, int dim);

/* Claimed stored bits per element of one side for vectors of `dim` elements, metadata included. */
double ingot_side_plan_bits(const ingot_side_plan *side, int dim);

#ifdef __cplusplus
}
#endif
#endif
