/* The registry of back ends: one table for each back end and instruction set, filled when first asked for. */
#include "backend.h"
#include "../base/cpu.h"
#include <pthread.h>
#include <string.h>

#define BACKEND(name, init) void init(ingot_backend *b);
#include "backends.def"
#undef BACKEND

static const struct { const char *name; void (*init)(ingot_backend *b); } registry[] = {
#define BACKEND(name, init) {name, init},
#include "backends.def"
#undef BACKEND
};

enum { N_BACKENDS = (int)(sizeof registry / sizeof registry[0]) };

static ingot_backend tables[N_BACKENDS][INGOT_N_ISAS];
static bool filled[N_BACKENDS][INGOT_N_ISAS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int ingot_backend_count(void) { return N_BACKENDS; }

const char *ingot_backend_name(int i) { return i >= 0 && i < N_BACKENDS ? registry[i].name : NULL; }

/* Row 0 is the reference: it fills all of a table, `own` then overrides. */
static const ingot_backend *table_get(int own, int isa) {
    ingot_backend *t = &tables[own][isa];
    pthread_mutex_lock(&lock);
    if (!filled[own][isa]) {
        registry[0].init(t);
        if (own != 0) registry[own].init(t);
        t->name = registry[own].name;
        filled[own][isa] = true;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

const ingot_backend *ingot_backend_find(const char *name) {
    for (int i = 0; name && i < N_BACKENDS; i++) {
        if (strcmp(name, registry[i].name) == 0) return table_get(i, ingot_cpu_get()->isa);
    }
    return NULL;
}
