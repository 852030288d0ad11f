/* Which vector operations a back end table gets. */
#include "vector.h"
#include "../../base/cpu.h"

void ingot_cpu_vector_init(ingot_backend *b) {
    const ingot_isa isa = ingot_cpu_get()->isa;
#if defined(__x86_64__)
    if (isa >= INGOT_ISA_AVX512) ingot_vector_avx512(b);
    else if (isa >= INGOT_ISA_AVX2) ingot_vector_avx2(b);
#elif defined(__aarch64__)
    if (isa >= INGOT_ISA_NEON) ingot_vector_neon(b);
#else
    (void)isa, (void)b;
#endif
}
