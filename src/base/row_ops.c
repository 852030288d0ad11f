#include "row_ops.h"
#include "cpu.h"
#include "half.h"
#include <stddef.h>

/* No branch inside, so that the loop is made of vectors. */
static bool finite(const float *x, int n) {
    uint32_t bad = 0;
    for (int i = 0; i < n; i++) bad |= (ingot_f32_bits(x[i]) & 0x7f800000u) == 0x7f800000u;
    return !bad;
}

static void round_halves(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        const float low = x[i] < -65504.0f ? -65504.0f : x[i];
        y[i] = ingot_f16_to_f32(ingot_f32_to_f16(low > 65504.0f ? 65504.0f : low));
    }
}

static float flipped(float x, const uint64_t *flip, int i) { return flip && flip[i / 64] >> (i % 64) & 1 ? -x : x; }

/* The first two steps at once: their partners are too close together for whole registers. */
static void walsh(float *y, const float *x, int n, const uint64_t *flip_in, const uint64_t *flip_out, float norm) {
    for (int i = 0; i < n; i += 4) {
        const float x0 = flipped(x[i], flip_in, i), x1 = flipped(x[i + 1], flip_in, i + 1), x2 = flipped(x[i + 2], flip_in, i + 2), x3 = flipped(x[i + 3], flip_in, i + 3);
        const float a = x0 + x1, b = x0 - x1, c = x2 + x3, d = x2 - x3;
        y[i] = a + c, y[i + 1] = b + d, y[i + 2] = a - c, y[i + 3] = b - d;
    }
    for (int h = 4; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                const float a = y[j], b = y[j + h];
                y[j] = a + b, y[j + h] = a - b;
            }
    for (int i = 0; i < n; i++) y[i] = flipped(y[i] * norm, flip_out, i);
}

const ingot_row_ops ingot_row_ops_plain = {finite, round_halves, walsh};

const ingot_row_ops *ingot_row_ops_get(void) {
#if defined(__x86_64__)
    const ingot_isa isa = ingot_cpu_get()->isa;
    if (isa >= INGOT_ISA_AVX512) return &ingot_row_ops_avx512;
    if (isa >= INGOT_ISA_AVX2) return &ingot_row_ops_avx2;
#endif
    return &ingot_row_ops_plain;
}
