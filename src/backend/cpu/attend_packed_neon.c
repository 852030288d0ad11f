/* The packed attention with NEON alone. */
#include "attend_packed_neon.h"

bool ingot_attend_packed_neon(const ingot_attend_args *a) { return attend_packed(a, phases); }
