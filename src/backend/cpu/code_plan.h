/* Codecs without a layout of their own on this back end keep canonical blocks in their tiles, one after the other. Where their codes are of a
 * shape (src/codec/codec.h) that the vector loops can follow, they are read straight from the blocks; else through the codec's decode. */
#ifndef INGOT_CPU_CODE_PLAN_H
#define INGOT_CPU_CODE_PLAN_H
#include "../kv.h"

/* How a code becomes its level: by permutations of a table of so many entries, by arithmetic, or by a gather. */
typedef enum code_kind { CODE_TABLE_8, CODE_TABLE_16, CODE_TABLE_32, CODE_TABLE_64, CODE_LINEAR, CODE_E4M3, CODE_ANY } code_kind;

typedef struct code_part {
    ingot_code_shape s;
    code_kind kind;
    int base;                /* CODE_LINEAR: level = code + base */
    int channels;            /* of the part */
    int block_bytes, tokens; /* of a block */
    float table[64];         /* CODE_TABLE: the levels, repeated */
} code_part;

/* Channels [begin[i], begin[i + 1]) are part i. They are those of the vector, or more in a wider frame. */
typedef struct code_plan { int n, begin[3]; code_part part[2]; } code_plan;

/* Fills p when the vector loops can read blocks of f: whole registers within a group, words of 4 bytes within a block. */
bool ingot_code_plan(const ingot_kv_fmt *f, code_plan *p);
#endif
