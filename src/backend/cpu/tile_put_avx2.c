/* Encode into tiles with AVX2. */
#include "tile_put.h"

TILE_PUTS(ingot_tile_put_avx2, ingot_row_encode_avx2)
