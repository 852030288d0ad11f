/* Rows of floats with AVX-512. */
#include "row_ops_body.h"

const ingot_row_ops ingot_row_ops_avx512 = ROW_OPS;
