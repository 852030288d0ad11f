/* The weights' and vectors' part of the reference back end. */
#ifndef INGOT_REF_WEIGHT_H
#define INGOT_REF_WEIGHT_H
#include "../backend.h"
#include "../../base/half.h"

/* Fills weight_prepare, weight_free, weight_bytes, linear_scratch_bytes and linear. */
void ingot_ref_linear_init(ingot_backend *b);
/* Fills rmsnorm, rope, glu, add and scale. */
void ingot_ref_vector_init(ingot_backend *b);

/* Checks what every back end needs of a matrix: a known type, sizes above 0, rows of whole blocks. */
ingot_status ingot_ref_weight_check(int type, int n_out, int n_in, const void *data);

/* Int8 activations, the same in all back ends: blocks of ACT_BLOCK inputs; with amax = max |x| of a block
 *   d = amax / 127 (f32, not rounded to half), q = round-half-even(x * (127 / amax)), value d * q.
 * A block below ACT_TINY (127 / amax must not overflow) counts as zero; one with infinities or NaN has d = NaN, so that it shows. */
enum { ACT_BLOCK = 32 };
#define ACT_TINY 1e-30f

/* amax is the largest |x| by its bits, so that NaN is larger than any number. Returns d, and the factor in *inv. */
static inline float ingot_act_scale(uint32_t amax_bits, float *inv) {
    const float amax = ingot_bits_f32(amax_bits);
    *inv = 0.f;
    if (amax_bits >= 0x7f800000u) return ingot_bits_f32(0x7fc00000u);
    if (amax < ACT_TINY) return 0.f;
    *inv = 127.f / amax;
    return amax / 127.f;
}
#endif
