/* Methods: named compositions of the registries' parts. One file per method, one line in methods.def. */
#ifndef INGOT_METHOD_INTERNAL_H
#define INGOT_METHOD_INTERNAL_H
#include "../codec/codec.h"
#include "../policy/policy.h"
#include "../transform/transform.h"
#include <ingot/method.h>

/* A side takes codec, transform and group from the method named for it; the plan takes the rest from the method named for
 * both sides. group 0: the codec's default. */
typedef struct ingot_method {
    const char *name, *description;
    int codec, transform, group;
    int policy, window, sinks;
} ingot_method;

const ingot_method *ingot_method_get(int i); /* NULL when out of range */
int ingot_method_find(const char *name);     /* -1 when unknown */

/* Largest exact windows that a plan may ask for. */
enum { INGOT_MAX_EXACT_WINDOW = 65536, INGOT_MAX_EXACT_SINKS = 4096 };
#endif
