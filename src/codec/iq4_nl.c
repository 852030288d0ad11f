/* iq4_nl: ggml's blocks of 32 channels with 16 uneven levels, dense around 0, and one half-float step; the last block may be shorter, of 16.
 * As ggml's reference quantiser does it for rows (quantize_row_iq4_nl_ref, without its search for better steps): codes against the step that gives the
 * largest element the level -127, then the least-squares step for these codes, each element weighted by its square. Codes are not taken again. */
#include "pack.h"
#include "range.h"
#include "shape.h"
#include <math.h>

enum { BLOCK = 32 };
#define ZERO_BELOW 1e-15f                    /* a block without a larger magnitude is zero */
#define LARGEST (127.0f * INGOT_F16_MAX)     /* elements beyond are clipped: no sum overflows */

static size_t block_bytes(const ingot_kv_fmt *f) { return (size_t)f->dim / 2 + 2 * (size_t)((f->dim + BLOCK - 1) / BLOCK); }

/* Nearest level; of two equally near ones the upper. */
static int nearest(float x) {
    const float *level = ingot_levels_iq4_nl;
    int above = 1;
    if (x <= level[0]) return 0;
    if (x >= level[15]) return 15;
    while (above < 15 && x >= level[above]) above++;
    return x - level[above - 1] < level[above] - x ? above - 1 : above;
}

static void encode_block(const float *in, int n, uint8_t *r) {
    float x[BLOCK], largest = 0.0f, peak = 0.0f, level_x = 0.0f, level_2 = 0.0f;
    uint8_t code[BLOCK] = {0};
    for (int i = 0; i < n; i++) {
        x[i] = fminf(fmaxf(in[i], -LARGEST), LARGEST);
        if (fabsf(x[i]) > largest) largest = fabsf(x[i]), peak = x[i];
    }
    const bool zero = largest < ZERO_BELOW;
    const float inverse = zero ? 0.0f : 1.0f / (peak / ingot_levels_iq4_nl[0]);
    for (int i = 0; i < n && !zero; i++) {
        code[i] = (uint8_t)nearest(inverse * x[i]);
        const float level = ingot_levels_iq4_nl[code[i]], weight = x[i] * x[i];
        level_x += weight * level * x[i];
        level_2 += weight * level * level;
    }
    ingot_put_u16(r, zero ? 0 : ingot_f16_saturate(level_x / level_2));
    ingot_pack_halves(code, n, r + 2);
}

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    uint8_t *r = row;
    for (int at = 0; at < f->dim; at += BLOCK) {
        const int n = f->dim - at < BLOCK ? f->dim - at : BLOCK;
        encode_block(x + at, n, r);
        r += 2 + n / 2;
    }
}

static void shape(const ingot_kv_fmt *f, ingot_code_shape *out) {
    (void)f;
    *out = (ingot_code_shape){
        .bits = 4, .level = ingot_levels_iq4_nl, .unit = 1, .signed_scale = true, .order = INGOT_ORDER_HALVES, .scale_kind = INGOT_SCALE_F16, .group = BLOCK,
        .scale_stride = 2 + BLOCK / 2, .code_at = 2, .code_stride = 2 + BLOCK / 2,
    };
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    ingot_code_shape s;
    shape(f, &s);
    ingot_shape_decode(&s, f, row, x);
}

const ingot_codec ingot_codec_iq4_nl = {
    .name = "iq4_nl", .source = "ggml (llama.cpp)",
    .description = "4-bit codes of uneven levels, one step per 32 channels of a token (ggml's blocks)", .sides = INGOT_BOTH_SIDES,
    .options = "", .needs = INGOT_CAL_NONE, .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = ingot_codec_check_dim, .shape = shape,
};
