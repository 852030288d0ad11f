/* Pieces of the softmax phase for NEON: weights as two digits of 8 bits, or one. */
#ifndef INGOT_CPU_ATTEND_P_NEON_H
#define INGOT_CPU_ATTEND_P_NEON_H
#include "attend_dot_neon.h"

/* Largest weight of a page as an integer, and its log2: digits are unsigned, or -128 to 127 under a high one of 0 to 127. */
#if defined(__ARM_FEATURE_MATMUL_INT8)
enum { WEIGHT_DIGITS_SIGNED = 0 };
VEC_INLINE float weight_max(int digits) { return digits == 2 ? 65535.f : 255.f; }
VEC_INLINE float weight_max_log2(int digits) { return digits == 2 ? 15.9999780f : 7.99435344f; }
#else
enum { WEIGHT_DIGITS_SIGNED = 1 };
VEC_INLINE float weight_max(int digits) { return (void)digits, 32639.f; }
VEC_INLINE float weight_max_log2(int digits) { return (void)digits, 14.9943092f; }
#endif
#define LINEAR4_UNIT (1.f / 16) /* codes stay shifted up by 4 bits */

VEC_INLINE vf tops_of_4(const int n, const vf *m) {
    const vf m0 = m[0], m1 = n > 1 ? m[1] : m0, m2 = n > 2 ? m[2] : m1, m3 = n > 3 ? m[3] : m2;
    return vpmaxnmq_f32(vpmaxnmq_f32(m0, m1), vpmaxnmq_f32(m2, m3));
}
VEC_INLINE void row_tops(const int n, const vf *m, vf *top) {
    top[0] = top[1] = tops_of_4(n, m);
    top[2] = top[3] = n > 4 ? tops_of_4(n - 4, m + 4) : top[0];
}

/* Halves without their signs order as integers. */
VEC_INLINE float largest_scale(const uint16_t *s, int lo, int hi) {
    const uint16_t lanes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint16x8_t top = vdupq_n_u16(0), at = vld1q_u16(lanes);
    VEC_UNROLL(8) for (int i = 0; i < 8; i++) {
        const uint16x8_t in = vandq_u16(vcgeq_u16(at, vdupq_n_u16((uint16_t)lo)), vcltq_u16(at, vdupq_n_u16((uint16_t)hi)));
        top = vmaxq_u16(top, vandq_u16(in, vandq_u16(vld1q_u16(s + 8 * i), vdupq_n_u16(0x7fff))));
        at = vaddq_u16(at, vdupq_n_u16(8));
    }
    return half_to_float(vmaxvq_u16(top));
}

/* The low bytes of four vectors side by side: byte b of a lane of vector b. */
VEC_INLINE uint32x4_t low_bytes(const uint32x4_t *v) { return vsliq_n_u32(vsliq_n_u32(vsliq_n_u32(v[0], v[1], 8), v[2], 16), v[3], 24); }

/* Digits [high, low], or one: dword lane i, byte b = token i + 16 b. */
VEC_INLINE void pack_weights(const int digits, const vf *x, const vf *w, uint32_t *p) {
    VEC_UNROLL(4) for (int h = 0; h < 4; h++) {
        uint32x4_t v[4], high[4];
        VEC_UNROLL(4) for (int t = 0; t < 4; t++) {
            v[t] = vcvtnq_u32_f32(vmulq_f32(x[4 * t + h], w[4 * t + h]));
            high[t] = vshrq_n_u32(vaddq_u32(v[t], vdupq_n_u32(WEIGHT_DIGITS_SIGNED ? 128 : 0)), 8);
        }
        if (digits == 2) vst1q_u32(p + h * 4, low_bytes(high));
        vst1q_u32(p + (digits - 1) * 16 + h * 4, low_bytes(v));
    }
}

#include "attend_p.h"
#endif
