/* How the CPU lays out a tile of 64 tokens of integer codes (ingot_code_shape with a unit), so that attention never sums across a register.
 *
 * Planes of halves first: the scales, then the offsets, if the format has them.
 *   K, per token       [4 tb][group][16 lanes]        tb = token / 16, lane = token % 16
 *   K, per channel     [blocks of `tokens` tokens][dim]
 *   V                  [group][64 tokens]
 * K codes: 16 tokens side by side in the 16 dword lanes of a 64-byte row.
 *   8 bits  [4 tb][dim/4][64]    byte b of a lane = channel b, value + 128 (an unsigned operand for dot products)
 *   4 bits  [4 tb][dim/8][64]    byte b = channel b (low nibble), 4 + b (high)
 *   2 bits  [4 tb][dim/16][64]   byte b, bits 2k = channel 4k + b
 *   3 bits  [4 tb][dim/32][3][64]  quads of channels 0 to 7: byte b of row j, bits 0-2 = channel b of quad 2j, bits 3-5 = of quad 2j + 1; the bits 6-7
 *           of the rows 0, 1, 2, from the lowest on, = quad 6 (three bits), then quad 7
 * V codes: channels in the lanes, four tokens in the bytes of a lane: byte b of row i = token i + 16 b.
 *   8 bits  [dim/16][16 i][64]   two's complement
 *   4 bits  [dim/32][16 i][64]   low nibble = channel lane, high = channel 16 + lane; codes of even steps (TILE_LINEAR4) as code - 8 in two's complement, and
 *           inverted bit by bit where the token's scale is negative: the value is then |scale| * (that number + 1).
 *           A last unit of 16 channels, [8 i][64]: low nibble = row i, high = row i + 8
 *   2 bits  [dim/64][16 i][64]   bits 2k = channel 16 k + lane
 *   3 bits  [dim/64][8 i][3][64]  as for K, with (channel / 16, row) in the place of quads: (0, i) (1, i) (0, i + 8) (1, i + 8) (2, i) (3, i) (2, i + 8) (3, i + 8)
 * f16 tiles have no planes: K [4 tb][dim][16], V [64][dim]; they are not described by tile16.
 * Nothing is padded: a tile has the bits of its canonical blocks. dim is a multiple of 16. */
#ifndef INGOT_CPU_TILE16_H
#define INGOT_CPU_TILE16_H
#include "../../codec/codec.h"
#include "../kv.h"

enum { TILE_TOKENS = 64, TILE_MAX_DIM = 512, TILE_LEVELS = 16 };

typedef enum tile_kind { TILE_LINEAR8, TILE_LINEAR4, TILE_BOOK4, TILE_BOOK3, TILE_BOOK2, TILE_KINDS } tile_kind;

/* A format's layout. A code's value is (number * unit + shift) * scale + offset, where number is an integer that loops take products of:
 * the byte of 8 bits; code - 8 of TILE_LINEAR4; level[code] of the books. */
typedef struct tile16 {
    tile_kind kind;
    int bits, dim, group, n_groups;
    int tokens;          /* keys with scales per channel: tokens that share them; else 0 */
    bool has_offset;
    bool signed_scale;
    uint8_t flip;        /* 8 bits: what turns the canonical byte into two's complement */
    float unit, shift;
    size_t offsets, codes, bytes; /* where planes start in the tile; its size */
    int8_t level[TILE_LEVELS];
} tile16;

/* False when the format has no such layout. */
bool tile16_make(tile16 *t, const ingot_kv_fmt *f);

/* Index of a token's scale in the scale (or offset) plane. */
static inline size_t tile16_k_scale(int n_groups, int g, int slot) { return ((size_t)(slot / 16) * (size_t)n_groups + (size_t)g) * 16 + (size_t)(slot % 16); }
static inline size_t tile16_v_scale(int g, int slot) { return (size_t)g * 64 + (size_t)slot; }

/* Encodes tokens into a tile, as ingot_tile_ops.put; the rows are bit for bit what the codec's encode makes. */
typedef void (*tile_put_fn)(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride);
/* Of one side: f16, and any format with a tile16. */
typedef struct tile_puts { tile_put_fn f16, codes; } tile_puts;
extern const tile_puts ingot_tile_put_avx2[2], ingot_tile_put_avx512[2], ingot_tile_put_neon[2];

/* Whether the format has a tuned layout: f16, or a tile16. Others' tiles are canonical blocks one after the other, as in the reference. */
bool tile16_has(const ingot_kv_fmt *f);
/* Bytes of a tile of either side of a format that has one. */
size_t tile16_bytes(const ingot_kv_fmt *f);
/* Fills the tile operations of the codecs that have it; puts: by side. */
void tile16_init(ingot_tile_ops tile[2][INGOT_N_CODECS], const tile_puts puts[2]);
#endif
