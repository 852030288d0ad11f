#include "policy.h"
#include <string.h>

#define POLICY(id, desc) extern const ingot_policy desc;
#include "policies.def"
#undef POLICY

static const ingot_policy *const policies[INGOT_N_POLICIES] = {
#define POLICY(id, desc) &desc,
#include "policies.def"
#undef POLICY
};

const ingot_policy *ingot_policy_get(int id) {
    return id >= 0 && id < INGOT_N_POLICIES ? policies[id] : NULL;
}

int ingot_policy_find(const char *name) {
    for (int i = 0; i < INGOT_N_POLICIES; i++)
        if (!strcmp(policies[i]->name, name)) return i;
    return -1;
}
