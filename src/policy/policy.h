/* Policies: which tokens stay in the cache. One file per policy, one line in policies.def.
 * A policy that evicts gives every packed token of every KV head a score; when a step has ended and more tokens are held than the budget allows, those with
 * the smallest scores go. Exact tokens (sinks, window) and the newest packed ones stay. */
#ifndef INGOT_POLICY_H
#define INGOT_POLICY_H
#include <ingot/calibration.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum ingot_policy_id {
#define POLICY(id, desc) INGOT_POLICY_##id,
#include "policies.def"
#undef POLICY
    INGOT_N_POLICIES
} ingot_policy_id;

typedef struct ingot_policy {
    const char *name, *description;
    const char *source;   /* where it comes from, such as "arXiv 2402.02750"; NULL when there is nothing to cite */
    const char *options; /* shown to users; "" without */
    bool evicts;
    int needs; /* enum ingot_cal_kind; its array of the layer and KV head is `cal` below */
    /* Score of a key [dim] in the model's own frame, taken once when the token comes. NULL: see observers. */
    float (*score)(const float *k, int dim, const float *cal);
    /* Most queries of a step (its newest) whose attention weights make the score, summed over the heads of the KV head. 0 with score NULL: the position is
     * the score. */
    int observers;
    float decay; /* what a score keeps with each query that is added */
} ingot_policy;

const ingot_policy *ingot_policy_get(int id); /* NULL when out of range */
int ingot_policy_find(const char *name);      /* -1 when unknown */
#endif
