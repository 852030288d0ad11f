/* q8_0: ggml's blocks of 32 signed bytes with one half-float step d = absmax / 127; the last block may be shorter.
 * Codes are computed with the unrounded 1/d, as ggml does, so that rows equal its bytes. */
#include "codec_util.h"
#include "shape.h"
#include <math.h>

enum { BLOCK = 32 };

static size_t block_bytes(const ingot_kv_fmt *f) { return (size_t)f->dim + 2 * (size_t)((f->dim + BLOCK - 1) / BLOCK); }

static void encode_block(const float *x, int n, uint8_t *r) {
    float absmax = 0.0f;
    for (int i = 0; i < n; i++) absmax = fmaxf(absmax, fabsf(x[i]));
    float d = absmax / 127.0f;
    if (d > INGOT_F16_MAX) d = INGOT_F16_MAX; /* elements beyond 127 * 65504 are clipped to it */
    const float inverse = d > 0.0f ? 1.0f / d : 0.0f;
    ingot_put_u16(r, ingot_f32_to_f16(d));
    for (int i = 0; i < n; i++) {
        /* A subnormal d has an infinite inverse; its half is 0, so any code will do. */
        const float c = roundf(fminf(fmaxf(x[i] * inverse, -127.0f), 127.0f));
        r[2 + i] = (uint8_t)(int8_t)c;
    }
}

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    uint8_t *r = row;
    for (int i = 0; i < f->dim; i += BLOCK) {
        const int n = f->dim - i < BLOCK ? f->dim - i : BLOCK;
        encode_block(x + i, n, r);
        r += 2 + n;
    }
}

static void shape(const ingot_kv_fmt *f, ingot_code_shape *out) {
    (void)f;
    *out = (ingot_code_shape){
        .bits = 8, .level = ingot_levels_int8, .unit = 1, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = BLOCK,
        .scale_stride = 2 + BLOCK, .code_at = 2, .code_stride = 2 + BLOCK,
    };
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    ingot_code_shape s;
    shape(f, &s);
    ingot_shape_decode(&s, f, row, x);
}

const ingot_codec ingot_codec_q8_0 = {
    .name = "q8_0", .source = "ggml (llama.cpp)",
    .description = "8-bit codes, one step per 32 channels of a token (ggml's blocks)", .sides = INGOT_BOTH_SIDES, .options = "",
    .needs = INGOT_CAL_NONE, .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = ingot_codec_check_dim, .shape = shape,
};
