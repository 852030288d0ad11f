/* Encode into tiles with AVX-512. */
#include "tile_put.h"

TILE_PUTS(ingot_tile_put_avx512, ingot_row_encode_avx512)
