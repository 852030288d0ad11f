/* Vector operations for NEON. */
#include "vector_isa.h"

void ingot_vector_neon(ingot_backend *b) { fill(b); }
