#include "method.h"
#include <string.h>

#define METHOD(desc) extern const ingot_method desc;
#include "methods.def"
#undef METHOD

static const ingot_method *const methods[] = {
#define METHOD(desc) &desc,
#include "methods.def"
#undef METHOD
};

enum { N_METHODS = sizeof methods / sizeof *methods };

const ingot_method *ingot_method_get(int i) { return i >= 0 && i < N_METHODS ? methods[i] : NULL; }

int ingot_method_find(const char *name) {
    for (int i = 0; i < N_METHODS; i++)
        if (!strcmp(methods[i]->name, name)) return i;
    return -1;
}
