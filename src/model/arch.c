/* The registry of architectures. */
#include "arch.h"
#include <string.h>

#define ARCH(descriptor) extern const ingot_arch descriptor;
#include "archs.def"
#undef ARCH

static const ingot_arch *const archs[] = {
#define ARCH(descriptor) &descriptor,
#include "archs.def"
#undef ARCH
};

int ingot_arch_count(void) { return (int)(sizeof archs / sizeof archs[0]); }

const ingot_arch *ingot_arch_at(int i) { return i >= 0 && i < ingot_arch_count() ? archs[i] : NULL; }

const ingot_arch *ingot_arch_find(const char *name, size_t n) {
    for (int i = 0; i < ingot_arch_count(); i++)
        if (strlen(archs[i]->name) == n && !memcmp(archs[i]->name, name, n)) return archs[i];
    return NULL;
}
