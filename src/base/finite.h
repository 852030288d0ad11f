/* Whether values are finite. */
#ifndef INGOT_BASE_FINITE_H
#define INGOT_BASE_FINITE_H
#include "half.h"
#include <stdbool.h>

/* No branch inside, so that the loop runs at memory speed. */
static inline bool ingot_all_finite(const float *x, int n) {
    uint32_t bad = 0;
    for (int i = 0; i < n; i++) bad |= (ingot_f32_bits(x[i]) & 0x7f800000u) == 0x7f800000u;
    return !bad;
}
#endif
