/* The formats whose nibble is an index into a table of 16 values. */
#include "wtype_decode.h"

/* ggml's kvalues_iq4nl */
const int8_t ingot_wtype_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/* FP4 E2M1 (OCP Microscaling Formats 1.0), doubled so that all are integers; index 8 (-0) gives +0 as in ggml. */
const int8_t ingot_wtype_fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* f16 d | 16 bytes of nibbles; x = d value[q] */
void ingot_wtype_decode_iq4_nl(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 18) ingot_wtype_nibbles(b + 2, ingot_wtype_iq4_values, ingot_wtype_half(b), x + i);
}

/* f16 d | u16 high pairs of 8 scales | 4 bytes of their low nibbles | 128 bytes of nibbles; x = d (scale - 32) value[q] */
void ingot_wtype_decode_iq4_xs(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 256, b += 136) {
        const float d = ingot_wtype_half(b);
        const int high = ingot_le_u16(b + 2);
        for (int r = 0; r < 8; r++) {
            const int scale = (b[4 + r / 2] >> 4 * (r % 2) & 15) | (high >> 2 * r & 3) << 4;
            ingot_wtype_nibbles(b + 8 + 16 * r, ingot_wtype_iq4_values, d * (float)(scale - 32), x + i + 32 * r);
        }
    }
}

/* E8M0 scale | 16 bytes of nibbles; x = scale FP4[q] */
void ingot_wtype_decode_mxfp4(const void *blocks, int64_t n, float *x) {
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b += 17) ingot_wtype_nibbles(b + 1, ingot_wtype_fp4_values, ingot_wtype_e8m0_half(b[0]), x + i);
}
