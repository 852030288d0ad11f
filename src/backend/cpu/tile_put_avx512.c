/* Encode into tiles with AVX-512. */
#include "tile_put.h"

const tile_put_fn ingot_tile_put_avx512[2][INGOT_N_CODECS] = TILE_PUT_TABLE;
