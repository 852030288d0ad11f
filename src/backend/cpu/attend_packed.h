/* Attention of few rows (decode) straight on packed tiles. Rows run in blocks of 1, 2, 3, 4 or 8 over a page in three
 * phases, so that codecs of K and V combine freely: scores from the K tile, softmax, values from the V tile.
 *
 * Integer codecs: the query and the softmax weights are 16-bit integers, and scores and outputs exact integer dot products
 * of them with the packed codes. AVX-512 takes them as two 8-bit digits (vpdpbusd; relative error about 4e-5), AVX2 as
 * pairs of s16 (vpmaddwd; 8e-5, the weights having 15 bits). Weights carry the token's V scale, in units of the largest
 * scale of the page. Floats with f16 tiles. Scores are in log2 units inside. */
#ifndef INGOT_CPU_ATTEND_PACKED_H
#define INGOT_CPU_ATTEND_PACKED_H
#include "cpu_kv.h"

enum { BLOCK_ROWS = 8, BLOCK_SIZES = 5, MAX_GROUPS = TILE_MAX_DIM / 32, PACKED_ROWS = 16 };

/* Rows of one block: prepared queries and running state. `n` is one of the block sizes. */
typedef struct attend_block {
    int n, row0;
    int32_t *q;                   /* integer K: [dim/4 quads][2][n]: high and low digits, or channels 0, 2 and 1, 3 */
    int32_t *offset;              /* integer K: [group][n] -(code offset) * sum of the group's query */
    float *q_sum;                 /* int4 K: [group][n] sum of the group's query, in steps */
    float *qf;                    /* f16 K: [dim][n] query times scale in log2 units */
    float *mid;                   /* int4 V: [n][group][16 lanes] sum of weight times mid, to be added to all channels */
    float step[BLOCK_ROWS];       /* integer K: factor of a row's scores */
    float m[16];                  /* running maximum, lanes as lane_of() says; VEC_FLOOR when empty */
    float l[BLOCK_ROWS][16];      /* running sum, in lanes */
    float *o[BLOCK_ROWS];         /* the rows' outputs [v.dim] */
} attend_block;

/* What the phases hand to each other for one block and page. */
typedef struct attend_page {
    const uint8_t *k, *v;
    int lo[BLOCK_ROWS], hi[BLOCK_ROWS];       /* what each row sees */
    cpu_window window;                        /* their union */
    bool full;                                /* every row sees the whole page */
    float *x;                                 /* [n][64] scores, then weights (f16 V) */
    uint32_t *p;                              /* integer V: [group][n][2][16 quads of tokens]: digits or pairs */
    float factor[MAX_GROUPS][16];             /* integer V: what a dot product of the group's weights is worth, lanes as m */
    const char *ahead, *ahead_end;            /* prefetch: next byte, end of the next page's tiles */
} attend_page;

typedef void (*attend_phase)(attend_block *b, const ingot_attend_args *a, attend_page *pg);

/* Vectors over rows repeat rows 0-3 in each quarter, or 0-3 in those of the lower and 4-7 in those of the upper half. */
static inline int lane_of(int row) { return row < 4 ? row : row + 4; }

static inline int attend_size_index(int n) { return n == 8 ? 4 : n - 1; }

/* Groups with a scale of their own; 0 for f16. */
static inline int attend_groups(const ingot_kv_fmt *f) {
    return f->codec == INGOT_CODEC_INT4 ? tile16_int4(f).n_groups : f->codec == INGOT_CODEC_Q8_0 ? tile16_q8(f).n_groups : 0;
}

/* The blocks of n_rows rows and the page's buffers, laid out in scratch (or only measured, when it is NULL). */
typedef struct attend_plan { attend_block *block; int n_blocks; float *x; uint32_t *p; size_t bytes; } attend_plan;
attend_plan ingot_attend_plan(void *scratch, const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows);

/* For at most n_rows rows. */
size_t ingot_attend_packed_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows);
/* At most PACKED_ROWS rows of codecs with tuned layouts. */
static inline bool ingot_attend_packed_serves(const ingot_attend_args *a) {
    return a->n_tokens * a->n_group <= PACKED_ROWS && tile16_has(&a->k) && tile16_has(&a->v);
}
void ingot_attend_packed_avx2(const ingot_attend_args *a);
void ingot_attend_packed_avx512(const ingot_attend_args *a);

/* [codec of that side][block size index]; the softmax goes by the codec of V. */
typedef struct attend_phases { const attend_phase (*k)[BLOCK_SIZES], (*p)[BLOCK_SIZES], (*v)[BLOCK_SIZES]; } attend_phases;
extern const attend_phase ingot_attend_k_avx2[INGOT_N_CODECS][BLOCK_SIZES], ingot_attend_k_avx512[INGOT_N_CODECS][BLOCK_SIZES];
extern const attend_phase ingot_attend_p_avx2[INGOT_N_CODECS][BLOCK_SIZES], ingot_attend_p_avx512[INGOT_N_CODECS][BLOCK_SIZES];
extern const attend_phase ingot_attend_v_avx2[INGOT_N_CODECS][BLOCK_SIZES], ingot_attend_v_avx512[INGOT_N_CODECS][BLOCK_SIZES];
#endif
