/* Encode vectors with NEON. */
#include "row_encode_body.h"

const row_encoder ingot_row_encode_neon[INGOT_N_CODECS] = ROW_ENCODE_TABLE;
