/* How the float attention reads a side's tiles. Codecs without a tuned layout keep canonical blocks in them, one after the other: some have
 * loops of their own, many have codes of a shape (src/codec/codec.h) that common vector loops follow, the others go through the codec's functions. */
#ifndef INGOT_CPU_CODE_PLAN_H
#define INGOT_CPU_CODE_PLAN_H
#include "../kv.h"
#include "tile16.h"

/* How a code becomes its level: by a table of so many entries, or by arithmetic. */
typedef enum code_kind { CODE_TABLE_8, CODE_TABLE_16, CODE_TABLE_32, CODE_TABLE_64, CODE_LINEAR, CODE_E4M3, CODE_KINDS } code_kind;

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

typedef enum cpu_route {
    ROUTE_TUNED,  /* tile16.h */
    ROUTE_OWN,    /* own_*.h */
    ROUTE_PAGE,   /* keys: likewise, all channels of a page at once */
    ROUTE_PLAN,   /* code_unpack.h */
    ROUTE_SCORE,  /* keys and few rows: the codec's score */
    ROUTE_DECODE, /* the codec's decode */
} cpu_route;

/* With more rows than this a decode that serves all of them is the better way. */
enum { SCORE_ROWS = 8 };

/* How one side of a call is read. */
typedef struct cpu_side {
    const ingot_kv_fmt *f;
    cpu_route route;
    tile16 tile;    /* ROUTE_TUNED, but for f16 */
    code_plan plan; /* ROUTE_PLAN; ROUTE_TUNED: the levels in part 0 */
    int width;      /* channels: those of the vector, or of the wider frame (ingot_codec.narrow) */
    size_t decoded; /* floats for a whole page: ROUTE_PAGE, ROUTE_DECODE */
    size_t of_row;  /* floats of a row, a multiple of 16: its prepared query (K), its wide output (V); 0 where there is none */
} cpu_side;

/* For n_rows rows. */
void ingot_cpu_side_plan(cpu_side *s, const ingot_kv_fmt *f, ingot_kv_side side, int n_rows);

/* Fills p when the vector loops can read blocks of f: whole registers within a group, words of 4 bytes within a block. */
bool ingot_code_plan(const ingot_kv_fmt *f, code_plan *p);
#endif
