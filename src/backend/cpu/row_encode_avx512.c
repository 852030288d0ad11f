/* Encode vectors with AVX-512. */
#include "row_encode_body.h"

const row_encoder ingot_row_encode_avx512[INGOT_N_CODECS] = ROW_ENCODE_TABLE;
