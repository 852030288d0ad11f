/* Encode vectors with AVX2. */
#include "row_encode_body.h"

const row_encoder ingot_row_encode_avx2[INGOT_N_CODECS] = ROW_ENCODE_TABLE;
