/* The range of a group of elements, for codecs whose offsets are halves: everything is first clipped to what a half can hold. */
#ifndef INGOT_CODEC_RANGE_H
#define INGOT_CODEC_RANGE_H
#include "codec_util.h"

static inline float ingot_f16_clip(float x) { return x > INGOT_F16_MAX ? INGOT_F16_MAX : x < -INGOT_F16_MAX ? -INGOT_F16_MAX : x; }

/* Smallest and largest of n (1 or more) clipped elements that lie `stride` apart; of equal ones the first (0 and -0 differ in their bits). */
static inline void ingot_clipped_range(const float *x, int n, ptrdiff_t stride, float *lo, float *hi) {
    *lo = *hi = ingot_f16_clip(x[0]);
    for (int i = 1; i < n; i++) {
        const float c = ingot_f16_clip(x[i * stride]);
        if (c < *lo) *lo = c;
        if (c > *hi) *hi = c;
    }
}
#endif
