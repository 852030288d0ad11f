/* The packed attention with NEON and dot products of signed bytes. */
#include "attend_packed_neon.h"

bool ingot_attend_packed_neon_dotprod(const ingot_attend_args *a) { return attend_packed(a, phases); }
