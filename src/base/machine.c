/* The public view of cpu.h and env.h. */
#include "cpu.h"
#include "env.h"
#include "error.h"
#include <ingot/machine.h>
#include <pthread.h>
#include <string.h>

static char extras[64];

static void add_extra(bool has, const char *name) {
    if (!has) return;
    if (*extras) strcat(extras, " ");
    strcat(extras, name);
}

static void find_extras(void) {
    const ingot_cpu *c = ingot_cpu_get();
    add_extra(c->avx_vnni, "avx_vnni");
    add_extra(c->avx512_bf16, "avx512_bf16");
    add_extra(c->avx512_fp16, "avx512_fp16");
    add_extra(c->amx_int8, "amx_int8");
}

void ingot_machine_get(ingot_machine *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_extras);
    const ingot_cpu *c = ingot_cpu_get();
    *out = (ingot_machine){c->name, ingot_isa_name(c->machine), ingot_isa_name(c->isa), extras};
}

int ingot_environment_count(void) { return INGOT_N_ENV; }

bool ingot_environment_get(ingot_environment_info *out, int i) {
    *out = (ingot_environment_info){0};
    if (i < 0 || i >= INGOT_N_ENV) return false;
    const ingot_env e = (ingot_env)i;
    *out = (ingot_environment_info){ingot_env_name(e), ingot_env_values(e), ingot_env_meaning(e), ingot_env_get(e)};
    return true;
}

/* Whether `value` is one of "a|b|c". */
static bool among(const char *value, const char *values) {
    const size_t n = strlen(value);
    for (const char *w = values;; w++) {
        const size_t m = strcspn(w, "|");
        if (m == n && !memcmp(w, value, n)) return true;
        w += m;
        if (!*w) return false;
    }
}

ingot_status ingot_environment_check(void) {
    ingot_environment_info e;
    for (int i = 0; ingot_environment_get(&e, i); i++)
        if (e.value && strpbrk(e.values, "|") && !among(e.value, e.values))
            return ingot_fail(INGOT_E_INVALID, "%s=%s: must be one of %s", e.name, e.value, e.values);
    const char *bad = ingot_cpu_bad_env();
    if (bad) return ingot_fail(INGOT_E_INVALID, "INGOT_CPU=%s: not a level of this processor family", bad);
    return INGOT_OK;
}
