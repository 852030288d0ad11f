/* kivi2, kivi4 (Liu et al., "KIVI: A Tuning-Free Asymmetric 2bit Quantization for KV Cache", arXiv 2402.02750): minimum and step per channel over a
 * group of consecutive tokens for keys, per token over a group of channels for values.
 * K block of `group` tokens: f16 scale[dim], f16 min[dim], then one row of codes [dim] per token. V row: f16 scale[n_groups], f16 min[n_groups], codes
 * [dim]; the last group may be shorter. Codes lie least significant bit first.
 *     s = f16((max - min) / (2^bits - 1)), z = f16(min), code = clamp(rint((x - z) / s), 0, 2^bits - 1), x^ = code * s + z
 * s and z are rounded before codes are taken; rint goes to even; s = 0 gives codes 0 and x^ = z; only elements that are there count. */
#include "pack.h"
#include "range.h"
#include "shape.h"
#include <math.h>

/* What a group's codes are taken against: the rounded numbers that the reader will see. */
typedef struct grid { float s, z, top; } grid;

/* n elements that lie `stride` apart; writes the halves. */
static grid make_grid(const float *x, int n, ptrdiff_t stride, int bits, uint8_t *scale, uint8_t *min) {
    const float top = (float)((1 << bits) - 1);
    float lo, hi;
    ingot_clipped_range(x, n, stride, &lo, &hi);
    ingot_put_u16(scale, ingot_f32_to_f16((hi - lo) / top));
    ingot_put_u16(min, ingot_f32_to_f16(lo));
    return (grid){ingot_f16_to_f32(ingot_get_u16(scale)), ingot_f16_to_f32(ingot_get_u16(min)), top};
}

static unsigned code_of(grid g, float x) {
    if (!(g.s > 0.0f)) return 0;
    return (unsigned)fminf(fmaxf(rintf((ingot_f16_clip(x) - g.z) / g.s), 0.0f), g.top);
}

static int tokens(const ingot_kv_fmt *f) { return f->side == INGOT_SIDE_K ? f->group : 1; }

static int n_groups(const ingot_kv_fmt *f) { return (f->dim + f->group - 1) / f->group; }

static size_t row_bytes(const ingot_kv_fmt *f, int bits) { return (size_t)(f->dim * bits / 8); }

static size_t block_bytes(const ingot_kv_fmt *f, int bits) {
    if (f->side == INGOT_SIDE_K) return (size_t)f->dim * 4 + (size_t)f->group * row_bytes(f, bits);
    return (size_t)n_groups(f) * 4 + row_bytes(f, bits);
}

static void encode_keys(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, int bits, uint8_t *block) {
    const size_t row = row_bytes(f, bits);
    uint8_t *codes = block + 4 * f->dim;
    memset(codes, 0, (size_t)f->group * row);
    for (int c = 0; c < f->dim; c++) {
        const grid g = make_grid(x + first * stride + c, n, stride, bits, block + 2 * c, block + 2 * (f->dim + c));
        uint8_t *at = codes + c * bits / 8;
        for (int t = first; t < first + n; t++) at[(size_t)t * row] |= (uint8_t)(code_of(g, x[t * stride + c]) << c * bits % 8);
    }
}

static void decode_keys(const ingot_kv_fmt *f, const uint8_t *block, int bits, float *x) {
    const size_t row = row_bytes(f, bits);
    const uint8_t *codes = block + 4 * f->dim;
    for (int c = 0; c < f->dim; c++) {
        const float s = ingot_f16_to_f32(ingot_get_u16(block + 2 * c)), z = ingot_f16_to_f32(ingot_get_u16(block + 2 * (f->dim + c)));
        const uint8_t *at = codes + c * bits / 8;
        for (int t = 0; t < f->group; t++) {
            const float product = (float)(at[(size_t)t * row] >> c * bits % 8 & ((1 << bits) - 1)) * s;
            x[(ptrdiff_t)t * f->dim + c] = product + z;
        }
    }
}

static void encode_values(const ingot_kv_fmt *f, const float *x, int bits, uint8_t *row) {
    const int ng = n_groups(f);
    uint8_t code[INGOT_MAX_HEAD_DIM];
    for (int g = 0; g < ng; g++) {
        const int at = g * f->group, n = f->dim - at < f->group ? f->dim - at : f->group;
        const grid grid = make_grid(x + at, n, 1, bits, row + 2 * g, row + 2 * (ng + g));
        for (int i = at; i < at + n; i++) code[i] = (uint8_t)code_of(grid, x[i]);
    }
    ingot_pack_codes(code, f->dim, bits, row + 4 * ng);
}

static void shape_values(const ingot_kv_fmt *f, int bits, ingot_code_shape *out) {
    const int ng = n_groups(f);
    *out = (ingot_code_shape){
        .bits = bits, .level = ingot_levels_plain(), .unit = 1, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = f->group, .has_offset = true,
        .scale_stride = 2, .offset_at = 2 * ng, .offset_stride = 2, .code_at = 4 * ng, .code_stride = f->group * bits / 8,
    };
}

/* One scale and minimum per channel, one row of codes per token. */
static void shape_keys(const ingot_kv_fmt *f, int bits, ingot_code_shape *out) {
    *out = (ingot_code_shape){
        .bits = bits, .level = ingot_levels_plain(), .unit = 1, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = 1, .has_offset = true,
        .scale_stride = 2, .offset_at = 2 * f->dim, .offset_stride = 2, .code_at = 4 * f->dim, .token_stride = (int)row_bytes(f, bits),
    };
}

static void decode_values(const ingot_kv_fmt *f, const uint8_t *row, int bits, float *x) {
    ingot_code_shape s;
    shape_values(f, bits, &s);
    ingot_shape_decode(&s, f, row, x);
}

static const char *check(const ingot_kv_fmt *f) {
    if (f->side == INGOT_SIDE_K && f->group != 32 && f->group != 64) return "keys take groups of 32 or 64 tokens";
    if (f->group < 16 || f->group % 16) return "the group must be a multiple of 16";
    return ingot_codec_check_dim(f);
}

static const int groups[] = {32, 64, 128, 0};

#define KIVI(bits)                                                                                                                               \
    static size_t block_bytes_##bits(const ingot_kv_fmt *f) { return block_bytes(f, bits); }                                                      \
    static void encode_##bits(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *block) {                           \
        if (f->side == INGOT_SIDE_K) encode_keys(f, x, stride, first, n, bits, block);                                                           \
        else encode_values(f, x, bits, block);                                                                                                   \
    }                                                                                                                                            \
    static void decode_##bits(const ingot_kv_fmt *f, const void *block, float *x) {                                                               \
        if (f->side == INGOT_SIDE_K) decode_keys(f, block, bits, x);                                                                             \
        else decode_values(f, block, bits, x);                                                                                                   \
    }                                                                                                                                            \
    static void shape_##bits(const ingot_kv_fmt *f, ingot_code_shape *out) {                                                                      \
        if (f->side == INGOT_SIDE_K) shape_keys(f, bits, out);                                                                                   \
        else shape_values(f, bits, out);                                                                                                         \
    }                                                                                                                                            \
    const ingot_codec ingot_codec_kivi##bits = {                                                                                                  \
        .name = "kivi" #bits, .source = "arXiv 2402.02750",                                                                                        \
        .description = #bits "-bit codes, affine: one scale and one minimum per channel and group of tokens (keys) or group of channels (values)", \
        .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, .default_group = 32, .groups = groups, .group_is_tokens = true,                        \
        .options = "group=32|64 (values also 128)", .tokens = tokens, .block_bytes = block_bytes_##bits, .encode = encode_##bits, .decode = decode_##bits,       \
        .check = check, .shape = shape_##bits,                                                                                                   \
    };
KIVI(2)
KIVI(4)
