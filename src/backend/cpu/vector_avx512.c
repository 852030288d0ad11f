/* Vector operations for AVX-512. */
#include "vector_isa.h"

void ingot_vector_avx512(ingot_backend *b) { fill(b); }
