/* What the codecs share: the largest finite half, stores of 16 bits, and the limit on vector lengths. */
#ifndef INGOT_CODEC_UTIL_H
#define INGOT_CODEC_UTIL_H
#include "../base/half.h"
#include "codec.h"
#include <ingot/types.h>
#include <stddef.h>

#define INGOT_F16_MAX 65504.0f

/* Nearest half; what would round to an infinity becomes +-65504, so that a stored row never decodes to one. */
static inline uint16_t ingot_f16_saturate(float x) {
    return ingot_f32_to_f16(x > INGOT_F16_MAX ? INGOT_F16_MAX : x < -INGOT_F16_MAX ? -INGOT_F16_MAX : x);
}

static inline void ingot_put_u16(uint8_t *p, uint16_t h) { p[0] = (uint8_t)h, p[1] = (uint8_t)(h >> 8); }
static inline uint16_t ingot_get_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

/* All codecs take the same lengths: back ends rely on whole registers of 16 elements. */
static inline const char *ingot_codec_check_dim(const ingot_kv_fmt *f) {
    const int dim = f->dim;
    if (dim < 16 || dim > INGOT_MAX_HEAD_DIM || dim % 16) return "the head size must be a multiple of 16 from 16 to 512";
    return NULL;
}

/* Sides of most codecs. */
#define INGOT_BOTH_SIDES (1u << INGOT_SIDE_K | 1u << INGOT_SIDE_V)
#endif
