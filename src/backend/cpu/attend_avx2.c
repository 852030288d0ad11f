/* Attention with AVX2: few rows on the packed tiles of tuned codecs, all else on tiles unpacked once. */
#include "unpack.h"
#define UNPACK ingot_unpack_avx2

#include "attend_packed.h"
#include "attend_rows.h"
#include "attend_state.h"

void ingot_cpu_attend_avx2(const ingot_attend_args *a) {
    const vec_mode mode = vec_denormals_off();
    if (!ingot_attend_packed_avx2(a)) attend_rows(a);
    vec_denormals_restore(mode);
}

void ingot_cpu_merge_avx2(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim) { state_merge(m, l, o, mb, lb, ob, dim); }
void ingot_cpu_normalize_avx2(const float *o, float l, float *out, int dim) { state_normalize(o, l, out, dim); }
