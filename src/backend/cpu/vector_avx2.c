/* Vector operations for AVX2. */
#include "vector_isa.h"

void ingot_vector_avx2(ingot_backend *b) { fill(b); }
