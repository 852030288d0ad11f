/* The packed attention with NEON and dot products of unsigned and signed bytes. */
#include "attend_packed_neon.h"

bool ingot_attend_packed_neon_i8mm(const ingot_attend_args *a) { return attend_packed(a, phases); }
