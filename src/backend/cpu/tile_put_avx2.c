/* Encode into tiles with AVX2. */
#include "tile_put.h"

const tile_put_fn ingot_tile_put_avx2[2][INGOT_N_CODECS] = TILE_PUT_TABLE;
