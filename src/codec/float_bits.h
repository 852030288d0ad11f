/* Small floats, scalar, exact: FP8 E4M3 and FP4 E2M1 (OCP Microscaling Formats 1.0; E4M3 as OCP FP8: no infinities, NaN only at S.1111.111). */
#ifndef INGOT_CODEC_FLOAT_BITS_H
#define INGOT_CODEC_FLOAT_BITS_H
#include "../base/half.h"

#define INGOT_E4M3_MAX 448.0f
#define INGOT_E2M1_MAX 6.0f

/* x finite. To nearest, half to even; magnitudes that would round beyond 448 become 448, so that no NaN is ever made. */
static inline uint8_t ingot_f32_to_e4m3(float x) {
    const uint32_t u = ingot_f32_bits(x), sign = u >> 24 & 0x80u, a = u & 0x7fffffffu;
    if (a >= 0x43e00000u) return (uint8_t)(sign | 0x7eu);
    if (a < 0x3c800000u) { /* below 2^-6: multiples of 2^-9, which is the ulp of 2^14 */
        const float v = ingot_bits_f32(a) + 0x1p14f;
        return (uint8_t)(sign | (ingot_f32_bits(v) - 0x46800000u));
    }
    return (uint8_t)(sign | (a + 0x7ffffu + (a >> 20 & 1u) - 0x3c000000u) >> 20);
}

/* The two NaN codes, which are never stored, give +-480: every byte is finite. */
static inline float ingot_e4m3_to_f32(uint8_t c) {
    const uint32_t sign = (uint32_t)(c & 0x80u) << 24, em = c & 0x7fu;
    if (em < 8) return ingot_bits_f32(sign | ingot_f32_bits((float)em * 0x1p-9f));
    return ingot_bits_f32(sign | ((em << 20) + 0x3c000000u));
}

/* x finite. To nearest, half to even, clamped to +-6; bit 3 is the sign. What rounds to zero is code 0, whatever its sign. */
static inline uint8_t ingot_f32_to_e2m1(float x) {
    const float a = ingot_bits_f32(ingot_f32_bits(x) & 0x7fffffffu);
    const int c = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5.0f);
    return (uint8_t)(c && x < 0 ? c | 8 : c);
}
#endif
