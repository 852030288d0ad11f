/* Half floats and friends, scalar, exact: IEEE binary16 (round to nearest even), bfloat16, E8M0. */
#ifndef INGOT_BASE_HALF_H
#define INGOT_BASE_HALF_H
#include <stdint.h>
#include <string.h>

static inline uint32_t ingot_f32_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float ingot_bits_f32(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

static inline float ingot_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, em = h & 0x7fffu;
    if (em >= 0x7c00u) return ingot_bits_f32(sign | 0x7f800000u | ((em & 0x3ffu) << 13)); /* inf, nan */
    if (em < 0x0400u) { /* zero, subnormal: value = em * 2^-24 */
        const float v = (float)em * 0x1p-24f;
        return ingot_bits_f32(sign | ingot_f32_bits(v));
    }
    return ingot_bits_f32(sign | ((em << 13) + 0x38000000u));
}

static inline uint16_t ingot_f32_to_f16(float f) {
    const uint32_t u = ingot_f32_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);           /* nan */
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);          /* rounds to inf */
    if (a < 0x38800000u) {                                            /* subnormal half or zero */
        const float v = ingot_bits_f32(a) + 0.5f;                     /* 0.5 has ulp 2^-24: rounds to even there */
        return (uint16_t)(sign | (ingot_f32_bits(v) - 0x3f000000u));
    }
    return (uint16_t)(sign | ((a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13));
}

static inline float ingot_bf16_to_f32(uint16_t h) { return ingot_bits_f32((uint32_t)h << 16); }
/* 2^(e-127); 255 is nan. */
static inline float ingot_e8m0_to_f32(uint8_t e) {
    if (e == 255) return ingot_bits_f32(0x7fc00000u);
    return e ? ingot_bits_f32((uint32_t)e << 23) : ingot_bits_f32(0x00400000u);
}
#endif
