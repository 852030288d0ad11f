/* Policies: which tokens stay in the cache. One file per policy, one line in policies.def. */
#ifndef INGOT_POLICY_H
#define INGOT_POLICY_H
#include <stddef.h>

typedef enum ingot_policy_id {
#define POLICY(id, desc) INGOT_POLICY_##id,
#include "policies.def"
#undef POLICY
    INGOT_N_POLICIES
} ingot_policy_id;

typedef struct ingot_policy {
    const char *name, *description;
} ingot_policy;

const ingot_policy *ingot_policy_get(int id); /* NULL when out of range */
int ingot_policy_find(const char *name);      /* -1 when unknown */
#endif
