/* Attention with NEON: few rows on the packed tiles of tuned codecs, all else on tiles unpacked once. */
#include "unpack.h"
#define UNPACK ingot_unpack_neon

#include "attend_packed.h"
#include "attend_rows.h"
#include "attend_state.h"

static void attend(const ingot_attend_args *a, bool (*packed)(const ingot_attend_args *)) {
    const vec_mode mode = vec_denormals_off();
    if (!packed(a)) attend_rows(a);
    vec_denormals_restore(mode);
}

void ingot_cpu_attend_neon(const ingot_attend_args *a) { attend(a, ingot_attend_packed_neon); }
void ingot_cpu_attend_neon_dotprod(const ingot_attend_args *a) { attend(a, ingot_attend_packed_neon_dotprod); }
void ingot_cpu_attend_neon_i8mm(const ingot_attend_args *a) { attend(a, ingot_attend_packed_neon_i8mm); }

void ingot_cpu_merge_neon(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim) { state_merge(m, l, o, mb, lb, ob, dim); }
void ingot_cpu_normalize_neon(const float *o, float l, float *out, int dim) { state_normalize(o, l, out, dim); }
