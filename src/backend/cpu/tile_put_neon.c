/* Encode into tiles with NEON. */
#include "tile_put.h"

const tile_put_fn ingot_tile_put_neon[2][INGOT_N_CODECS] = TILE_PUT_TABLE;
