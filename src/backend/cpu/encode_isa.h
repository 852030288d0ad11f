/* Steps of the vector encoders that vec.h has not, for each instruction set. */
#ifndef INGOT_CPU_ENCODE_ISA_H
#define INGOT_CPU_ENCODE_ISA_H
#include "vec.h"
#include <string.h>

VEC_INLINE vf vf_join(vf a, vf b, bool sum) { return sum ? vf_add(a, b) : vf_max(a, b); }

#if defined(__aarch64__)
VEC_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
VEC_INLINE vf magnitude(vf x) { return vabsq_f32(x); }
/* x where p > 0, else 0. */
VEC_INLINE vf where_positive(vf p, vf x) { return vreinterpretq_f32_u32(vandq_u32(vcgtzq_f32(p), vreinterpretq_u32_f32(x))); }
VEC_INLINE vf where_not_zero(vf p, vf x) { return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), vceqzq_f32(p))); }
VEC_INLINE vf where_greater(vf a, vf b, vf x, vf y) { return vbslq_f32(vcgtq_f32(a, b), x, y); }
VEC_INLINE bool any_equal(vf a, vf b) { return vmaxvq_u32(vceqq_f32(a, b)) != 0; }
VEC_INLINE void store_halves(uint16_t *p, vf x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
VEC_INLINE vi vi_truncate(vf x) { return vreinterpretq_u32_s32(vcvtq_s32_f32(x)); }
VEC_INLINE void store_codes(uint8_t *p, vi code) {
    const uint16x4_t w = vmovn_u32(code);
    const uint32_t b = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(w, w))), 0);
    memcpy(p, &b, 4);
}
/* Small floats to integers, halves away from zero as roundf. */
VEC_INLINE vi vi_away(vf x) { return vreinterpretq_u32_s32(vcvtaq_s32_f32(x)); }

VEC_INLINE vf vf_sqrt(vf x) { return vsqrtq_f32(x); }

/* Sums or maxima of eight registers: of a[0] to a[3], of b[0] to b[3]. Lanes that lie half a register apart are joined first, then those a quarter apart, and so on. */
VEC_INLINE vf fold_four(const vf a[4], bool sum) {
    vf half[2];
    for (int i = 0; i < 2; i++) {
        const float64x2_t x = vreinterpretq_f64_f32(a[2 * i]), y = vreinterpretq_f64_f32(a[2 * i + 1]);
        half[i] = vf_join(vreinterpretq_f32_f64(vzip1q_f64(x, y)), vreinterpretq_f32_f64(vzip2q_f64(x, y)), sum);
    }
    return vf_join(vuzp1q_f32(half[0], half[1]), vuzp2q_f32(half[0], half[1]), sum);
}
VEC_INLINE void fold_eight(const vf a[4], const vf b[4], bool sum, float *of_a, float *of_b) {
    vst1q_f32(of_a, fold_four(a, sum));
    vst1q_f32(of_b, fold_four(b, sum));
}
#elif defined(__AVX512F__)
VEC_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
VEC_INLINE vf magnitude(vf x) { return _mm512_abs_ps(x); }
VEC_INLINE vf where_positive(vf p, vf x) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(p, _mm512_setzero_ps(), _CMP_GT_OQ), x); }
VEC_INLINE vf where_not_zero(vf p, vf x) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(p, _mm512_setzero_ps(), _CMP_NEQ_UQ), x); }
VEC_INLINE vf where_greater(vf a, vf b, vf x, vf y) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x); }
VEC_INLINE bool any_equal(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) != 0; }
VEC_INLINE void store_halves(uint16_t *p, vf x) { _mm256_storeu_si256((void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }
VEC_INLINE vi vi_truncate(vf x) { return _mm512_cvttps_epi32(x); }
VEC_INLINE void store_codes(uint8_t *p, vi code) { _mm_storeu_si128((void *)p, _mm512_cvtepi32_epi8(code)); }
VEC_INLINE vi vi_away(vf x) { return _mm512_cvttps_epi32(_mm512_add_ps(x, _mm512_or_ps(_mm512_and_ps(x, _mm512_set1_ps(-0.f)), _mm512_set1_ps(0.49999997f)))); }

VEC_INLINE vf vf_sqrt(vf x) { return _mm512_sqrt_ps(x); }

VEC_INLINE void fold_eight(const vf a[4], const vf b[4], bool sum, float *of_a, float *of_b) {
    vf t[4], half[2];
    VEC_UNROLL(4) for (int i = 0; i < 4; i++) t[i] = vf_join(_mm512_shuffle_f32x4(a[i], b[i], 0x44), _mm512_shuffle_f32x4(a[i], b[i], 0xee), sum); /* a a b b */
    for (int i = 0; i < 2; i++) { /* a b of one, a b of the next */
        const vf x = t[2 * i], y = t[2 * i + 1];
        half[i] = vf_join(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd), sum);
    }
    const vf r = vf_join(_mm512_shuffle_ps(half[0], half[1], 0x44), _mm512_shuffle_ps(half[0], half[1], 0xee), sum);
    const vf s = vf_join(_mm512_shuffle_ps(r, r, 0x88), _mm512_shuffle_ps(r, r, 0xdd), sum);
    _mm_storeu_ps(of_a, _mm_unpacklo_ps(_mm512_castps512_ps128(s), _mm512_extractf32x4_ps(s, 2)));
    _mm_storeu_ps(of_b, _mm_unpacklo_ps(_mm512_extractf32x4_ps(s, 1), _mm512_extractf32x4_ps(s, 3)));
}
#else
VEC_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
VEC_INLINE vf magnitude(vf x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), x); }
VEC_INLINE vf where_positive(vf p, vf x) { return _mm256_and_ps(_mm256_cmp_ps(p, _mm256_setzero_ps(), _CMP_GT_OQ), x); }
VEC_INLINE vf where_not_zero(vf p, vf x) { return _mm256_and_ps(_mm256_cmp_ps(p, _mm256_setzero_ps(), _CMP_NEQ_UQ), x); }
VEC_INLINE vf where_greater(vf a, vf b, vf x, vf y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ)); }
VEC_INLINE bool any_equal(vf a, vf b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)) != 0; }
VEC_INLINE void store_halves(uint16_t *p, vf x) { _mm_storeu_si128((void *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }
VEC_INLINE vi vi_truncate(vf x) { return _mm256_cvttps_epi32(x); }
VEC_INLINE void store_codes(uint8_t *p, vi code) {
    const __m256i low = _mm256_shuffle_epi8(code, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
    _mm_storel_epi64((void *)p, _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}
VEC_INLINE vi vi_away(vf x) { return _mm256_cvttps_epi32(_mm256_add_ps(x, _mm256_or_ps(_mm256_and_ps(x, _mm256_set1_ps(-0.f)), _mm256_set1_ps(0.49999997f)))); }
VEC_INLINE vf vf_sqrt(vf x) { return _mm256_sqrt_ps(x); }

VEC_INLINE void fold_eight(const vf a[4], const vf b[4], bool sum, float *of_a, float *of_b) {
    vf t[4], half[2];
    VEC_UNROLL(4) for (int i = 0; i < 4; i++) t[i] = vf_join(_mm256_permute2f128_ps(a[i], b[i], 0x20), _mm256_permute2f128_ps(a[i], b[i], 0x31), sum); /* a b */
    for (int i = 0; i < 2; i++) half[i] = vf_join(_mm256_shuffle_ps(t[2 * i], t[2 * i + 1], 0x44), _mm256_shuffle_ps(t[2 * i], t[2 * i + 1], 0xee), sum);
    const vf s = vf_join(_mm256_shuffle_ps(half[0], half[1], 0x88), _mm256_shuffle_ps(half[0], half[1], 0xdd), sum);
    _mm_storeu_ps(of_a, _mm256_castps256_ps128(s));
    _mm_storeu_ps(of_b, _mm256_extractf128_ps(s, 1));
}
#endif
#endif
