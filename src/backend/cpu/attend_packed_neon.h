/* The packed attention with NEON, for files compiled for one of its levels. */
#ifndef INGOT_CPU_ATTEND_PACKED_NEON_H
#define INGOT_CPU_ATTEND_PACKED_NEON_H
#include "attend_dot_neon.h"
#include "attend_f16.h"
#include "attend_k_digits.h"
#include "attend_p_neon.h"
#include "attend_v_digits.h"

VEC_INLINE int32_t lowest_bytes(int32x4_t i) {
    const int16x4_t w = vmovn_s32(i);
    return vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(w, w))), 0);
}

/* Digits: the high bytes of a quad, then the low ones; small numbers are low ones alone. */
VEC_INLINE void pack_query(vi x, const int digits, int32_t *out) {
    const int32x4_t i = vreinterpretq_s32_u32(x);
    if (digits == 2) out[0] = lowest_bytes(vshrq_n_s32(vaddq_s32(i, vdupq_n_s32(128)), 8));
    out[digits - 1] = lowest_bytes(i); /* i - 256 * high, in the lowest byte */
}
VEC_INLINE int code_excess(tile_kind kind, int digits) { return (void)digits, dot_excess(kind); }
VEC_INLINE void code_fit(tile16 *t) { (void)t; }

#include "attend_walk.h"

ATTEND_INTEGERS(k, k_integer, 1)
ATTEND_INTEGERS(k, k_integer, 2)
ATTEND_INTEGERS(v, v_integer, 2)
ATTEND_INSTANCES(k_f16, k_f16)
ATTEND_INSTANCES(v_f16, v_f16)
static const attend_phase k_phases[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_TABLE(k, 1), ATTEND_TABLE(k, 2)};

/* One signed digit of a weight is too few bits: without unsigned ones a fast call saves digits of the query alone. */
#if defined(__ARM_FEATURE_MATMUL_INT8)
ATTEND_INTEGERS(v, v_integer, 1)
ATTEND_INSTANCES(p_one, P_ONE)
static const attend_phase p_phases[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_P_TABLE(p_one), ATTEND_P_TABLE(p_two)};
static const attend_phase v_phases[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_TABLE(v, 1), ATTEND_TABLE(v, 2)};
#else
static const attend_phase p_phases[2][ATTEND_KINDS][BLOCK_SIZES] = {{{0}}, ATTEND_P_TABLE(p_two)};
static const attend_phase v_phases[2][ATTEND_KINDS][BLOCK_SIZES] = {{{0}}, ATTEND_TABLE(v, 2)};
#endif

static const attend_phases phases[2] = {{k_phases[0], p_phases[0], v_phases[0]}, {k_phases[1], p_phases[1], v_phases[1]}};
#endif
