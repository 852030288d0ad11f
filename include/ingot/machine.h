/* What this machine offers, and the environment variables that the library reads. C11, C++-clean; thread-safe. */
#ifndef INGOT_MACHINE_H
#define INGOT_MACHINE_H
#include <ingot/status.h>
#include <ingot/types.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The processor. All strings are static. */
typedef struct ingot_machine {
    const char *processor; /* brand, such as "AMD EPYC 9B14" */
    const char *level;     /* instruction set level that the machine has: ref, avx2, avxvnni, avx512, neon, dotprod, i8mm */
    const char *used;      /* the level in use, after the limit of INGOT_CPU */
    const char *extras;    /* extensions in use beyond the level, such as "avx512_bf16 amx_int8"; "" when none */
} ingot_machine;
void ingot_machine_get(ingot_machine *out);

/* One environment variable. Values: "a|b|c", or what any text stands for, such as "FILE". */
typedef struct ingot_environment_info {
    const char *name, *values, *meaning;
    const char *value; /* NULL when unset; owned by the environment */
} ingot_environment_info;
int ingot_environment_count(void);
/* False when `i` is out of range. */
bool ingot_environment_get(ingot_environment_info *out, int i);
/* INGOT_E_INVALID naming a variable with a value that is not among the allowed ones, and those. */
ingot_status ingot_environment_check(void);

#ifdef __cplusplus
}
#endif
#endif
