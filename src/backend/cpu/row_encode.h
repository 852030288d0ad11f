/* Vector encoders of single vectors, bit for bit the codecs' own (src/codec): the same operations with the same roundings, no contraction, halves by the
 * processor (the same round to nearest even). What they make is not packed: where codes lie is the tiles' matter (tile_put.h). */
#ifndef INGOT_CPU_ROW_ENCODE_H
#define INGOT_CPU_ROW_ENCODE_H
#include "../../codec/codec.h"
#include "tile16.h"

/* Tokens of one call, at most, and the groups that they can have. */
enum { ROW_ENCODE_TOKENS = 16, ROW_ENCODE_GROUPS = ROW_ENCODE_TOKENS * TILE_MAX_DIM / 16 };

/* n tokens x[i * stride .. + dim]: codes [n][dim] one a byte, as the codec numbers them; scales and offsets [n][groups of a token] as halves, of which there
 * are ROW_ENCODE_GROUPS places (some beyond the last are written). Formats without offsets leave those alone. */
typedef void (*row_encode_fn)(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int n, uint8_t *codes, uint16_t *scales, uint16_t *offsets);

/* A block of several tokens, as `encode` takes it: codes [tokens of the block][dim], 0 for absent ones; scales and offsets [dim]. */
typedef void (*block_encode_fn)(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, uint8_t *codes, uint16_t *scales, uint16_t *offsets);

/* Of a codec; both NULL where there is neither. `block` serves formats with several tokens a block, `row` the others. */
typedef struct row_encoder { row_encode_fn row; block_encode_fn block; } row_encoder;
extern const row_encoder ingot_row_encode_avx2[INGOT_N_CODECS], ingot_row_encode_avx512[INGOT_N_CODECS], ingot_row_encode_neon[INGOT_N_CODECS];
#endif
