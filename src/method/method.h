/* Methods: named compositions of the registries' parts. One file per method, one line in methods.def. */
#ifndef INGOT_METHOD_INTERNAL_H
#define INGOT_METHOD_INTERNAL_H
#include "../codec/codec.h"
#include "../policy/policy.h"
#include "../transform/transform.h"
#include <ingot/method.h>

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
    ingot_method_side k, v;
    int window, sinks;
} ingot_method;

const ingot_method *ingot_method_get(int i); /* NULL when out of range */
int ingot_method_find(const char *name);     /* -1 when unknown */

/* Largest exact windows that a plan may ask for. */
enum { INGOT_MAX_EXACT_WINDOW = 65536, INGOT_MAX_EXACT_SINKS = 4096 };
#endif
