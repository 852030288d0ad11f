/* int2, int3, int4, int8: affine codes in groups along the channels of one token; the last group may be shorter.
 * Row: scales f16 [n_groups], mids f16 [n_groups], codes of `bits` bits [dim], least significant bit first.
 * x^ = (code - 2^(bits - 1)) * scale + mid. The signed form lets a reader take integer dot products of centred codes. */
#include "pack.h"
#include "range.h"
#include "shape.h"
#include <math.h>

static int n_groups(const ingot_kv_fmt *f) { return (f->dim + f->group - 1) / f->group; }

static size_t block_bytes(const ingot_kv_fmt *f, int bits) { return (size_t)n_groups(f) * 4 + (size_t)f->dim * (size_t)bits / 8; }

/* The levels are centred on the group's range with the *rounded* scale, so that what the scale lost or gained by
 * rounding is shared by both ends; codes are then taken against the rounded scale and mid that the reader will see. */
static void encode_group(const float *x, int n, int bits, uint16_t *scale, uint16_t *mid, uint8_t *code) {
    const float half = (float)(1 << (bits - 1));
    float lo, hi;
    ingot_clipped_range(x, n, 1, &lo, &hi);
    *scale = ingot_f32_to_f16((hi - lo) / (2.0f * half - 1.0f));
    const float s = ingot_f16_to_f32(*scale);
    *mid = ingot_f16_saturate((lo + hi) * 0.5f + s * 0.5f);
    const float m = ingot_f16_to_f32(*mid), inverse = s > 0.0f ? 1.0f / s : 0.0f;
    for (int i = 0; i < n; i++) {
        const float c = rintf((ingot_f16_clip(x[i]) - m) * inverse);
        code[i] = (uint8_t)(fminf(fmaxf(c, -half), half - 1.0f) + half);
    }
}

static void encode(const ingot_kv_fmt *f, const float *x, int bits, void *row) {
    const int ng = n_groups(f);
    uint8_t *r = row, code[INGOT_MAX_HEAD_DIM];
    for (int g = 0; g < ng; g++) {
        const int at = g * f->group, n = f->dim - at < f->group ? f->dim - at : f->group;
        uint16_t scale, mid;
        encode_group(x + at, n, bits, &scale, &mid, code + at);
        ingot_put_u16(r + 2 * g, scale);
        ingot_put_u16(r + 2 * (ng + g), mid);
    }
    ingot_pack_codes(code, f->dim, bits, r + 4 * ng);
}

static void shape(const ingot_kv_fmt *f, int bits, ingot_code_shape *out) {
    const int ng = n_groups(f);
    *out = (ingot_code_shape){
        .bits = bits, .level = ingot_levels_centred(bits), .unit = 1, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = f->group, .has_offset = true,
        .scale_stride = 2, .offset_at = 2 * ng, .offset_stride = 2, .code_at = 4 * ng, .code_stride = f->group * bits / 8,
    };
}

static const char *check(const ingot_kv_fmt *f) {
    if (f->group < 16 || f->group % 16) return "the group must be a multiple of 16";
    return ingot_codec_check_dim(f);
}

#define OPTIONS "group=16|32|64|128|256"
static const int groups[] = {16, 32, 64, 128, 256, 0};

#define AFFINE(bits)                                                                                                                            \
    static size_t block_bytes_##bits(const ingot_kv_fmt *f) { return block_bytes(f, bits); }                                                      \
    static void encode_##bits(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {                             \
        (void)stride, (void)first, (void)n;                                                                                                      \
        encode(f, x, bits, row);                                                                                                                 \
    }                                                                                                                                            \
    static void shape_##bits(const ingot_kv_fmt *f, ingot_code_shape *out) { shape(f, bits, out); }                                               \
    static void decode_##bits(const ingot_kv_fmt *f, const void *row, float *x) {                                                                 \
        ingot_code_shape s;                                                                                                                      \
        shape(f, bits, &s);                                                                                                                      \
        ingot_shape_decode(&s, f, row, x);                                                                                                       \
    }                                                                                                                                            \
    const ingot_codec ingot_codec_int##bits = {                                                                                                   \
        .name = "int" #bits, .description = #bits "-bit codes, affine: one scale and one mid per group of channels of a token",                    \
        .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, .default_group = 32, .groups = groups, .options = OPTIONS,                             \
        .block_bytes = block_bytes_##bits, .encode = encode_##bits, .decode = decode_##bits, .check = check, .shape = shape_##bits,                \
    };
AFFINE(2)
AFFINE(3)
AFFINE(4)
AFFINE(8)
