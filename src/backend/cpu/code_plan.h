/* Codecs without a layout of their own on this back end keep canonical blocks in their tiles, one after the other. Where the codec has a
 * shape (src/codec/codec.h) that the vector loops can follow, its codes are read straight from the blocks; else through its decode. */
#ifndef INGOT_CPU_CODE_PLAN_H
#define INGOT_CPU_CODE_PLAN_H
#include "../kv.h"

/* How a code becomes its level: by permutations of a table of so many entries, by arithmetic, or by a gather. */
typedef enum code_kind { CODE_TABLE_8, CODE_TABLE_16, CODE_TABLE_32, CODE_TABLE_64, CODE_LINEAR, CODE_E4M3, CODE_ANY } code_kind;

typedef struct code_plan {
    ingot_code_shape s;
    code_kind kind;
    int base;        /* CODE_LINEAR: level = code + base */
    int block_bytes, tokens; /* of a block */
    float table[64]; /* CODE_TABLE: the levels, repeated */
} code_plan;

/* Fills p when the vector loops can read blocks of f: whole registers within a group, words of 4 bytes within a block. */
bool ingot_code_plan(const ingot_kv_fmt *f, code_plan *p);
#endif
