/* The matrix product for AVX2. */
#include "linear_isa.h"

void ingot_linear_avx2(const ingot_linear_args *a, const ingot_team *team) { ingot_cpu_linear(a, team, &isa_table); }
