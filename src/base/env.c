#include "env.h"
#include <stdlib.h>

static const struct {
    const char *name, *values, *meaning;
} table[INGOT_N_ENV] = {
#define ROW(symbol, name, values, meaning) {name, values, meaning},
    INGOT_ENV_LIST(ROW)
#undef ROW
};

const char *ingot_env_get(ingot_env e) {
    const char *v = getenv(table[e].name);
    return v && *v ? v : NULL;
}

const char *ingot_env_name(ingot_env e) { return table[e].name; }
const char *ingot_env_values(ingot_env e) { return table[e].values; }
const char *ingot_env_meaning(ingot_env e) { return table[e].meaning; }
