/* Attention with NEON on tiles unpacked once. */
#include "unpack.h"
#define UNPACK ingot_unpack_neon

#include "attend_rows.h"
#include "attend_state.h"

void ingot_cpu_attend_neon(const ingot_attend_args *a) {
    const vec_mode mode = vec_denormals_off();
    attend_rows(a);
    vec_denormals_restore(mode);
}

void ingot_cpu_merge_neon(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim) { state_merge(m, l, o, mb, lb, ob, dim); }
void ingot_cpu_normalize_neon(const float *o, float l, float *out, int dim) { state_normalize(o, l, out, dim); }
