/* How the CPU lays out a tile of 64 tokens, so that attention never sums across a register.
 *
 * K: 16 tokens side by side in the 16 dword lanes of a 64-byte row (tb = token / 16, lane = token % 16).
 *   scales  f16 [4 tb][group][16 lanes], then mids likewise (int4)
 *   int4    [4 tb][dim/8][64]   row of 8 channels: byte b of a lane = channel b (low nibble), 4 + b (high); code 0..15
 *   q8_0    [4 tb][dim/4][64]   byte b of a lane = channel b, code + 128 (an unsigned operand for the dot product)
 *   f16     [4 tb][dim][16]     halves
 * V: channels in the lanes, four tokens in the bytes of a lane: row i holds tokens i, i+16, i+32, i+48.
 *   scales  f16 [group][64 tokens], then mids likewise (int4)
 *   int4    [dim/32][16 i][64]  low nibble = channel lane, high = channel 16 + lane; code - 8 in two's complement.
 *           A last unit of 16 channels, [8 i][64]: byte b = tokens i + 16 b (low nibble), i + 8 + 16 b (high)
 *   q8_0    [dim/16][16 i][64]  code
 *   f16     [64][dim]           halves
 * Nothing is padded: a tile has the bits of its canonical rows. dim is a multiple of 16. */
#ifndef INGOT_CPU_TILE16_H
#define INGOT_CPU_TILE16_H
#include "../../codec/codec.h"
#include "../kv.h"

enum { TILE_TOKENS = 64, TILE_MAX_DIM = 512, TILE_Q8_GROUP = 32 };

/* Byte offsets of the planes of a tile with scales. The scales start at 0. */
typedef struct tile16 { int dim, group, n_groups; size_t mids, codes; } tile16;

static inline tile16 tile16_int4(const ingot_kv_fmt *f) {
    const int n = (f->dim + f->group - 1) / f->group;
    return (tile16){f->dim, f->group, n, (size_t)n * 128, (size_t)n * 256};
}
static inline tile16 tile16_q8(const ingot_kv_fmt *f) {
    const int n = (f->dim + TILE_Q8_GROUP - 1) / TILE_Q8_GROUP;
    return (tile16){f->dim, TILE_Q8_GROUP, n, 0, (size_t)n * 128};
}
/* Index of a token's scale in the scale (or mid) plane. */
static inline size_t tile16_k_scale(int n_groups, int g, int slot) { return ((size_t)(slot / 16) * (size_t)n_groups + (size_t)g) * 16 + (size_t)(slot % 16); }
static inline size_t tile16_v_scale(int g, int slot) { return (size_t)g * 64 + (size_t)slot; }

/* Bytes of a tile of either side. */
static inline size_t tile16_bytes(const ingot_kv_fmt *f) {
    switch (f->codec) {
    case INGOT_CODEC_INT4: return tile16_int4(f).codes + (size_t)f->dim / 2 * TILE_TOKENS;
    case INGOT_CODEC_Q8_0: return tile16_q8(f).codes + (size_t)f->dim * TILE_TOKENS;
    default: return (size_t)f->dim * 2 * TILE_TOKENS;
    }
}

/* Encodes tokens into a tile, as ingot_tile_ops.put; the rows are bit for bit what the codec's encode makes. */
typedef void (*tile_put_fn)(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride);
extern const tile_put_fn ingot_tile_put_avx2[2][INGOT_N_CODECS], ingot_tile_put_avx512[2][INGOT_N_CODECS];

/* Whether the codec has this layout; the others' tiles are canonical blocks one after the other, as in the reference. */
bool tile16_has(const ingot_kv_fmt *f);
/* Fills the tile operations of the codecs that have it. */
void tile16_init(ingot_tile_ops tile[2][INGOT_N_CODECS], const tile_put_fn put[2][INGOT_N_CODECS]);
#endif
