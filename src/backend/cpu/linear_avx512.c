/* The matrix product for AVX-512 with VNNI. */
#include "linear_isa.h"

void ingot_linear_avx512(const ingot_linear_args *a, const ingot_team *team) { ingot_cpu_linear(a, team, &isa_table); }
