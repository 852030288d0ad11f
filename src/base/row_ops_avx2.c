/* Rows of floats with AVX2. */
#include "row_ops_body.h"

const ingot_row_ops ingot_row_ops_avx2 = ROW_OPS;
