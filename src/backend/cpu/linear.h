/* How the CPU back end keeps weights and multiplies them.
 *
 * Quantised rows are rearranged in groups of 16: the 16 rows lie in the 16 dword lanes of a 64-byte vector, four inputs in the
 * bytes of a lane, so that a dot product of bytes against four activations (the same for all lanes) never sums across a register.
 * A group is a plane of codes, then a plane of scales; codes keep the bits of the format:
 *   codes, for each run of 32 inputs, vector j (0..7) holding inputs 4 j .. 4 j + 3:
 *     4 bits  [4][64]  low nibble = vector j, high = vector j + 4
 *     5 bits  as 4 bits, then [64] with bit j of a byte = bit 4 of vector j
 *     6 bits  as 4 bits, then [2][64] with bits 2 (j % 4) .. of plane j / 4 = bits 4, 5 of vector j
 *     8 bits  [8][64]
 *   scales, by kind (16 lanes each):
 *     D   for each run: f16 d                       w = d (c - zero)
 *     DM  for each run: f16 d, f16 m                w = d c + m
 *     E   for each run: f32 d                       w = d (c - zero)
 *     K   for 256 inputs: f16 d, then for each part int8 scale                w = d scale (c - zero)
 *     KM  for 256 inputs: f16 d, f16 m, then for each part u8 scale, u8 min   w = d scale c - m min
 *   a part is 32 inputs, or 16 in the formats that have scales for 16.
 * Rows past the last are zero. 2- and 3-bit codes are kept as 4 bits. Floats stay as they are in the file. */
#ifndef INGOT_CPU_LINEAR_H
#define INGOT_CPU_LINEAR_H
#include "../backend.h"
#include "../ref/ref_weight.h"

enum { LIN_ROWS = 16, LIN_RUN = 32, LIN_SUPER = 256 };

typedef enum lin_code { LIN_C4, LIN_C4_TABLE, LIN_C5, LIN_C6, LIN_C8 } lin_code;
typedef enum lin_scale { LIN_D, LIN_DM, LIN_E, LIN_K, LIN_KM } lin_scale;

/* X(weight type, code, scale, inputs of a part, zero). Formats with a table: zero makes its entries unsigned. */
#define LIN_FORMATS(X)                      \
    X(Q4_0, LIN_C4, LIN_D, 32, 8)           \
    X(Q4_1, LIN_C4, LIN_DM, 32, 0)          \
    X(Q5_0, LIN_C5, LIN_D, 32, 16)          \
    X(Q5_1, LIN_C5, LIN_DM, 32, 0)          \
    X(Q8_0, LIN_C8, LIN_D, 32, 128)         \
    X(Q2_K, LIN_C4, LIN_KM, 16, 0)          \
    X(Q3_K, LIN_C4, LIN_K, 16, 4)           \
    X(Q4_K, LIN_C4, LIN_KM, 32, 0)          \
    X(Q5_K, LIN_C5, LIN_KM, 32, 0)          \
    X(Q6_K, LIN_C6, LIN_K, 16, 32)          \
    X(IQ4_NL, LIN_C4_TABLE, LIN_D, 32, 128) \
    X(IQ4_XS, LIN_C4_TABLE, LIN_K, 32, 128) \
    X(MXFP4, LIN_C4_TABLE, LIN_E, 32, 16)

typedef struct lin_format { int type, code, scale, part, zero; } lin_format;

struct ingot_weight {
    const lin_format *format; /* NULL: floats */
    int type, n_out, n_in, n_groups;
    const int8_t *table;      /* [16] or NULL */
    size_t group_bytes, scales_at;
    uint8_t *data;            /* own; [n_groups][group_bytes] */
    const uint8_t *rows;      /* floats: mapped, borrowed */
    int row_bytes;
};

static inline size_t lin_code_bytes(int code) { return code == LIN_C8 ? 512 : code == LIN_C6 ? 384 : code == LIN_C5 ? 320 : 256; }

/* Bytes of the scale plane for each run (D, DM, E) or for each 256 inputs (K, KM). */
static inline size_t lin_scale_bytes(int scale, int part) {
    const size_t parts = (size_t)(LIN_SUPER / part);
    return scale == LIN_D ? 32 : scale == LIN_DM || scale == LIN_E ? 64 : scale == LIN_K ? 32 + 16 * parts : 64 + 32 * parts;
}

/* Activations as int8, shared by the team. Tokens are cut into tiles (lin_tile_tokens); a tile that begins at token t lies
 * at t * n_in of q and t * n_runs * 4 of meta, as [n_runs][tokens of the tile] of 32 codes and of {d, d * sum of the first half, of the second, of both}
 * with the tokens innermost ([4][tokens]). */
typedef struct lin_acts {
    int n_tokens, n_in, n_runs;
    int8_t *q;
    float *meta;
} lin_acts;

/* Tokens of the tile that begins at token t: `most` while that many are left, then powers of two that there are kernels for. */
static inline int lin_tile_tokens(int n_tokens, int t, int most) {
    const int left = n_tokens - t;
    return left >= most ? most : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* One instruction set. Groups [g0, g1) of o's matrix for tokens [t0, t1); t0 begins a tile. */
typedef struct lin_isa {
    int tile;        /* most tokens of an int8 tile */
    int float_groups; /* groups that the float product takes together */
    void (*quantize)(const lin_acts *acts, const float *x, ptrdiff_t x_stride, int t0, int t1);
    void (*rows_int8)(const ingot_linear_out *o, const lin_acts *acts, int g0, int g1, int t0, int t1);
    void (*rows_float)(const ingot_linear_out *o, const float *x, ptrdiff_t x_stride, int g0, int g1, int t0, int t1);
} lin_isa;

void ingot_cpu_linear(const ingot_linear_args *a, const ingot_team *team, const lin_isa *isa);
void ingot_cpu_linear_init(ingot_backend *b);
void ingot_linear_avx2(const ingot_linear_args *a, const ingot_team *team);
void ingot_linear_avx512(const ingot_linear_args *a, const ingot_team *team);

/* linear_pack.c */
ingot_status ingot_cpu_weight_prepare(ingot_weight **w, int type, int n_out, int n_in, const void *data, const ingot_team *team);
void ingot_cpu_weight_free(ingot_weight *w);
size_t ingot_cpu_weight_bytes(const ingot_weight *w);
#endif
