/* fp8: FP8 E4M3 elements with one half-float scale per token.
 * Row: f16 scale, codes [dim]. scale = absmax / 448 puts the largest element on the largest number, so that neither overflow nor the subnormals
 * (below 2^-15 of the largest) matter, whatever the model's magnitudes. */
#include "codec_util.h"
#include "float_bits.h"
#include "shape.h"
#include <math.h>

static size_t block_bytes(const ingot_kv_fmt *f) { return 2 + (size_t)f->dim; }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    uint8_t *r = row;
    float absmax = 0.0f;
    for (int i = 0; i < f->dim; i++) absmax = fmaxf(absmax, fabsf(x[i]));
    const uint16_t scale = ingot_f16_saturate(absmax / INGOT_E4M3_MAX);
    const float s = ingot_f16_to_f32(scale);
    ingot_put_u16(r, scale);
    for (int i = 0; i < f->dim; i++) r[2 + i] = s > 0.0f ? ingot_f32_to_e4m3(x[i] / s) : 0;
}

static void shape(const ingot_kv_fmt *f, ingot_code_shape *out) {
    *out = (ingot_code_shape){
        .bits = 8, .level = ingot_levels_e4m3, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = f->dim, .scale_stride = 2,
        .code_at = 2, .code_stride = f->dim,
    };
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    ingot_code_shape s;
    shape(f, &s);
    ingot_shape_decode(&s, f, row, x);
}

const ingot_codec ingot_codec_fp8 = {
    .name = "fp8", .source = "arXiv 2209.05433",
    .description = "8-bit floats (E4M3), one scale per token", .sides = INGOT_BOTH_SIDES, .options = "", .needs = INGOT_CAL_NONE,
    .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = ingot_codec_check_dim, .shape = shape,
};
