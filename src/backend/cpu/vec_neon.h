/* Vectors of 4 floats, Advanced SIMD of AArch64: what vec.h has for x86-64. Included by vec.h. */
#ifndef INGOT_CPU_VEC_NEON_H
#define INGOT_CPU_VEC_NEON_H
#include <arm_neon.h>
#include <string.h>

enum { VW = 4 };
typedef float32x4_t vf;
VEC_INLINE vf vf_zero(void) { return vdupq_n_f32(0.f); }
VEC_INLINE vf vf_set(float x) { return vdupq_n_f32(x); }
VEC_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
VEC_INLINE void vf_store(float *p, vf x) { vst1q_f32(p, x); }
VEC_INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
VEC_INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
VEC_INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
/* Of a number and NaN the number, as fmaxf. */
VEC_INLINE vf vf_max(vf a, vf b) { return vmaxnmq_f32(a, b); }
VEC_INLINE vf vf_min(vf a, vf b) { return vminnmq_f32(a, b); }
VEC_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
VEC_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
VEC_INLINE vf vf_halves(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
typedef uint32x4_t vi;
VEC_INLINE vi vi_load(const void *p) { return vreinterpretq_u32_u8(vld1q_u8(p)); }
VEC_INLINE vi vi_set(uint32_t x) { return vdupq_n_u32(x); }
VEC_INLINE vi vi_xor(vi a, vi b) { return veorq_u32(a, b); }
VEC_INLINE vi vi_add(vi a, vi b) { return vaddq_u32(a, b); }
VEC_INLINE vi vi_nearest(vf x) { return vreinterpretq_u32_s32(vcvtnq_s32_f32(x)); }
VEC_INLINE int32_t vi_sum(vi a) { return vaddvq_s32(vreinterpretq_s32_u32(a)); }
VEC_INLINE int32x4_t vi_shifted_left(vi v, int n) { return vreinterpretq_s32_u32(vshlq_u32(v, vdupq_n_s32(n))); }
VEC_INLINE vf vf_nibble_u(vi v, int at) {
    const int32x4_t n = vreinterpretq_s32_u32(vandq_u32(vshlq_u32(v, vdupq_n_s32(-at)), vdupq_n_u32(15)));
    return vcvtq_f32_s32(vsubq_s32(n, vdupq_n_s32(8)));
}
VEC_INLINE vf vf_nibble_s(vi v, int at) { return vcvtq_f32_s32(vshrq_n_s32(vi_shifted_left(v, 28 - at), 28)); }
VEC_INLINE vf vf_byte_s(vi v, int at) { return vcvtq_f32_s32(vshrq_n_s32(vi_shifted_left(v, 24 - at), 24)); }
VEC_INLINE float vf_sum(vf a) { return vaddvq_f32(a); }
VEC_INLINE float vf_top(vf a) { return vmaxnmvq_f32(a); }
VEC_INLINE vf vf_window(vf x, vf other, int at, int lo, int hi) {
    const int32_t lanes[4] = {0, 1, 2, 3};
    const int32x4_t i = vaddq_s32(vdupq_n_s32(at), vld1q_s32(lanes));
    return vbslq_f32(vandq_u32(vcgeq_s32(i, vdupq_n_s32(lo)), vcltq_s32(i, vdupq_n_s32(hi))), x, other);
}
VEC_INLINE vf vf_ldexp(vf p, vf n) {
    const int32x4_t e = vshlq_n_s32(vcvtnq_s32_f32(vmaxnmq_f32(n, vdupq_n_f32(-101.f))), 23);
    const uint32x4_t y = vreinterpretq_u32_s32(vaddq_s32(vreinterpretq_s32_f32(p), e));
    return vreinterpretq_f32_u32(vandq_u32(y, vcgeq_f32(n, vdupq_n_f32(-100.f))));
}
VEC_INLINE bool vf_any_above(vf a, vf b) { return vmaxvq_u32(vcgtq_f32(a, b)) != 0; }

/* Round to nearest even. */
VEC_INLINE uint16_t float_to_half(float x) { return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x))), 0); }
VEC_INLINE float half_to_float(uint16_t h) { return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0); }

VEC_INLINE void transpose_4(const float *const in[4], float *out, ptrdiff_t step) {
    const vf a = vld1q_f32(in[0]), b = vld1q_f32(in[1]), c = vld1q_f32(in[2]), d = vld1q_f32(in[3]);
    const float64x2_t ab0 = vreinterpretq_f64_f32(vtrn1q_f32(a, b)), ab1 = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
    const float64x2_t cd0 = vreinterpretq_f64_f32(vtrn1q_f32(c, d)), cd1 = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
    vst1q_f32(out, vreinterpretq_f32_f64(vtrn1q_f64(ab0, cd0)));
    vst1q_f32(out + step, vreinterpretq_f32_f64(vtrn1q_f64(ab1, cd1)));
    vst1q_f32(out + 2 * step, vreinterpretq_f32_f64(vtrn2q_f64(ab0, cd0)));
    vst1q_f32(out + 3 * step, vreinterpretq_f32_f64(vtrn2q_f64(ab1, cd1)));
}

/* FPCR.FZ: operations on floats take and make 0 in the place of denormal numbers; conversions of halves stay exact. */
typedef uint64_t vec_mode;
VEC_INLINE vec_mode vec_denormals_off(void) {
    vec_mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1u << 24));
    return mode;
}
VEC_INLINE void vec_denormals_restore(vec_mode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#endif
