/* Encode into tiles with NEON. */
#include "tile_put.h"

TILE_PUTS(ingot_tile_put_neon, ingot_row_encode_neon)
