/* What the processor can do, after the limit of INGOT_CPU. */
#ifndef INGOT_BASE_CPU_H
#define INGOT_BASE_CPU_H
#include <stdbool.h>

/* Levels, in ascending order within a processor family. avx2 = AVX2+FMA+F16C+BMI2; avxvnni = AVX-VNNI too (not on all that have the next); avx512 = F, BW,
 * DQ, VL, CD, VNNI, VBMI. On AArch64: neon = every processor; dotprod = dot products of bytes (Armv8.2, optional before 8.4); i8mm = these of unsigned with signed bytes too, and products of 2 x 8 matrices. */
typedef enum ingot_isa { INGOT_ISA_REF, INGOT_ISA_AVX2, INGOT_ISA_AVXVNNI, INGOT_ISA_AVX512, INGOT_ISA_NEON, INGOT_ISA_DOTPROD, INGOT_ISA_I8MM, INGOT_N_ISAS } ingot_isa;

typedef struct ingot_cpu {
    ingot_isa isa;      /* the level to use: min(machine, INGOT_CPU) */
    ingot_isa machine;  /* what the machine has */
    bool avx_vnni, avx512_bf16, avx512_fp16, amx_int8; /* all false when isa is below what they build on */
    char name[64];      /* processor brand string */
} ingot_cpu;

/* Detected once; thread-safe. */
const ingot_cpu *ingot_cpu_get(void);
/* "ref", "avx2", "avxvnni", "avx512", "neon", "dotprod", "i8mm"; and back (false when unknown). */
const char *ingot_isa_name(ingot_isa isa);
bool ingot_isa_parse(const char *s, ingot_isa *out);
/* An INGOT_CPU value that is not a level name of this processor family: the text, else NULL (the program turns it into an error). */
const char *ingot_cpu_bad_env(void);
/* Tests: use this level from now on (not above the machine's; returns false then). */
bool ingot_cpu_force(ingot_isa isa);
#endif
