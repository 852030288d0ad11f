/* Attention with AVX2. */
#include "attend_rows.h"

void ingot_cpu_attend_avx2(const ingot_attend_args *a) { attend_rows(a); }
