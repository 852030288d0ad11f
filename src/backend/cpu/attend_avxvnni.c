/* Attention with AVX-VNNI: few rows on the packed tiles of tuned codecs, all else as with AVX2. */
#include "attend_packed.h"
#include "vec.h"

void ingot_cpu_attend_avxvnni(const ingot_attend_args *a) {
    const vec_mode mode = vec_denormals_off();
    const bool done = ingot_attend_packed_avxvnni(a);
    vec_denormals_restore(mode);
    if (!done) ingot_cpu_attend_avx2(a);
}
