/* Attention of few rows (decode) straight on packed tiles. Rows run in blocks of 1, 2, 3, 4 or 8 over a page in three
 * phases, so that formats of K and V combine freely: scores from the K tile, softmax, values from the V tile.
 *
 * Integer formats (tile16.h): the query and the softmax weights are integers too, and scores and outputs exact integer dot products of them with the
 * packed codes. Precise: 16 bits each; AVX-512 and AVX-VNNI take them as two 8-bit digits (vpdpbusd; relative error about 4e-5), AVX2 as pairs of s16
 * (vpmaddwd; 8e-5, the weights having 15 bits). Fast (ingot_attend_args.fast): one 8-bit digit each, relative error about 1e-2; AVX2 has that for codes
 * of at most 4 bits, and takes levels of books as 7-bit numbers (vpmaddubsw). NEON takes digits as AVX-512 does where it has i8mm, else signed ones (15 bits of
 * a weight; 8e-5), and is then fast in the query alone. Weights carry the token's V
 * scale, in units of the largest scale of the page. Keys with scales per channel: the query carries them, and is made anew for each block of tokens.
 * Floats with f16 tiles. Scores are in log2 units inside. */
#ifndef INGOT_CPU_ATTEND_PACKED_H
#define INGOT_CPU_ATTEND_PACKED_H
#include "cpu_kv.h"

/* ATTEND_F16 stands beside the kinds of tile16. */
enum { BLOCK_ROWS = 8, BLOCK_SIZES = 5, MAX_GROUPS = TILE_MAX_DIM / 32, PACKED_ROWS = 16, ATTEND_F16 = TILE_KINDS, ATTEND_KINDS };

/* Rows of one block: prepared queries and running state. `n` is one of the block sizes. */
typedef struct attend_block {
    int n, row0;
    int32_t *q;                   /* integer K: [dim/4 quads][digits][n]: high and low digits, or channels 0, 2 and 1, 3 */
    int32_t *offset;              /* integer K: [group][n] -(what the loop's unsigned codes are too large by) * sum of the group's query */
    float *q_sum;                 /* K with offsets: [group][n] sum of the group's query, in units of a dot product */
    float *qf;                    /* f16 K: [dim][n] query times scale in log2 units; scales per channel: [n][dim] */
    float *mid;                   /* V with offsets: [n][group][16 lanes] sum of weight times offset, to be added to all channels */
    float step[BLOCK_ROWS];       /* integer K: factor of a row's scores */
    float m[16];                  /* running maximum, lanes as lane_of() says; VEC_FLOOR when empty */
    float l[BLOCK_ROWS][16];      /* running sum, in lanes */
    float *o[BLOCK_ROWS];         /* the rows' outputs [v.dim] */
} attend_block;

/* Queries that carry the scales of one block of tokens: members as in attend_block, `add` in the place of q_sum. */
typedef struct attend_scaled { int32_t *q; int32_t offset[BLOCK_ROWS]; float step[BLOCK_ROWS], add[BLOCK_ROWS]; } attend_scaled;

/* What the phases hand to each other for one block and page. */
typedef struct attend_page {
    const uint8_t *k, *v;
    int lo[BLOCK_ROWS], hi[BLOCK_ROWS];       /* what each row sees */
    cpu_window window;                        /* their union */
    bool full;                                /* every row sees the whole page */
    float *x;                                 /* [n][64] scores, then weights (f16 V) */
    uint32_t *p;                              /* integer V: [group][n][2][16 quads of tokens]: digits or pairs */
    float factor[MAX_GROUPS][16];             /* integer V: what a dot product of the group's weights is worth, lanes as m */
    attend_scaled scaled[2];                  /* keys with scales per channel: of each block of tokens */
    const char *ahead, *ahead_end;            /* prefetch: next byte, end of the next page's tiles */
} attend_page;

/* A call: formats, and its blocks and buffers, laid out in scratch (or only measured, when it is NULL). */
typedef struct attend_call {
    const ingot_attend_args *a;
    tile16 k, v;                 /* but for f16 */
    int k_kind, v_kind;          /* tile_kind or ATTEND_F16 */
    int digits;                  /* of queries: 1 or 2 */
    attend_block *block;
    int n_blocks;
    float *x;
    uint32_t *p;
    int32_t *scaled_q[2];
    size_t bytes;
} attend_call;

typedef void (*attend_phase)(attend_block *b, const attend_call *c, attend_page *pg);

/* Vectors over rows repeat rows 0-3 in each quarter, or 0-3 in those of the lower and 4-7 in those of the upper half. */
static inline int lane_of(int row) { return row < 4 ? row : row + 4; }

static inline int attend_size_index(int n) { return n == 8 ? 4 : n - 1; }

/* Whether a value is number * scale and something more. */
static inline bool attend_has_mids(const tile16 *t) { return t->has_offset || t->signed_scale; }

/* False when a format has no tuned layout. */
bool ingot_attend_call(attend_call *c, void *scratch, const ingot_attend_args *a, const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows);

/* For at most n_rows rows. */
size_t ingot_attend_packed_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows);
/* False, and nothing done, where another path has to serve: more than PACKED_ROWS rows, or formats without tuned layouts. */
bool ingot_attend_packed_avx2(const ingot_attend_args *a);
bool ingot_attend_packed_avxvnni(const ingot_attend_args *a);
bool ingot_attend_packed_avx512(const ingot_attend_args *a);
bool ingot_attend_packed_neon(const ingot_attend_args *a);
bool ingot_attend_packed_neon_dotprod(const ingot_attend_args *a);
bool ingot_attend_packed_neon_i8mm(const ingot_attend_args *a);

/* [kind of that side][block size index]; the softmax goes by the kind of V. */
typedef struct attend_phases { const attend_phase (*k)[BLOCK_SIZES], (*p)[BLOCK_SIZES], (*v)[BLOCK_SIZES]; } attend_phases;
/* [digits - 1]; AVX2 has no fast phases for some kinds. */
extern const attend_phase ingot_attend_k_avx512[2][ATTEND_KINDS][BLOCK_SIZES], ingot_attend_k_avxvnni[2][ATTEND_KINDS][BLOCK_SIZES];
extern const attend_phase ingot_attend_p_avx512[2][ATTEND_KINDS][BLOCK_SIZES], ingot_attend_p_avxvnni[2][ATTEND_KINDS][BLOCK_SIZES], ingot_attend_p_avx2[2][ATTEND_KINDS][BLOCK_SIZES];
extern const attend_phase ingot_attend_v_avx512[2][ATTEND_KINDS][BLOCK_SIZES], ingot_attend_v_avxvnni[2][ATTEND_KINDS][BLOCK_SIZES];
extern const attend_phase ingot_attend_k_avx2[ATTEND_KINDS][BLOCK_SIZES], ingot_attend_k_fast_avx2[ATTEND_KINDS][BLOCK_SIZES];
extern const attend_phase ingot_attend_v_avx2[ATTEND_KINDS][BLOCK_SIZES], ingot_attend_v_fast_avx2[ATTEND_KINDS][BLOCK_SIZES];
#endif
