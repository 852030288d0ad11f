/* mxfp4 and nvfp4: FP4 E2M1 elements (0, .5, 1, 1.5, 2, 3, 4, 6 and their negatives) in blocks along the channels of one token.
 * mxfp4 (OCP Microscaling Formats 1.0, section 6.3): blocks of 32, the last may be of 16: scale 2^(b - 127) as the byte b, then nibbles in ggml's order.
 * nvfp4: blocks of 16: scales FP8 E4M3 [dim / 16], then codes [dim / 2], the even element in the low nibble. */
#include "codec_util.h"
#include "float_bits.h"
#include "pack.h"
#include "shape.h"
#include <math.h>

enum { MX = 32, NV = 16 };

static float absmax_of(const float *x, int n) {
    float absmax = 0.0f;
    for (int i = 0; i < n; i++) absmax = fmaxf(absmax, fabsf(x[i]));
    return absmax;
}

static size_t block_bytes_mx(const ingot_kv_fmt *f) { return (size_t)((f->dim + MX - 1) / MX) + (size_t)f->dim / 2; }
static size_t block_bytes_nv(const ingot_kv_fmt *f) { return (size_t)f->dim / NV + (size_t)f->dim / 2; }

/* The exponent of absmax less that of the largest element (4 in 6 = 1.5 * 4), biased by 127; what lies beyond the largest element is clamped. */
static uint8_t mx_scale(float absmax) {
    const int exponent = (int)(ingot_f32_bits(absmax) >> 23); /* biased by 127 as well; 0 for 0 and subnormals */
    return (uint8_t)(exponent > 2 ? exponent - 2 : 0);
}

static void encode_mx(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    uint8_t *r = row;
    for (int at = 0; at < f->dim; at += MX) {
        const int n = f->dim - at < MX ? f->dim - at : MX;
        uint8_t code[MX];
        r[0] = mx_scale(absmax_of(x + at, n));
        const float inverse = ingot_e8m0_to_f32((uint8_t)(254 - r[0])); /* a power of two: exact */
        for (int i = 0; i < n; i++) code[i] = ingot_f32_to_e2m1(x[at + i] * inverse);
        ingot_pack_halves(code, n, r + 1);
        r += 1 + n / 2;
    }
}

static void encode_nv(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    uint8_t *r = row, code[INGOT_MAX_HEAD_DIM];
    for (int at = 0; at < f->dim; at += NV) {
        r[at / NV] = ingot_f32_to_e4m3(absmax_of(x + at, NV) / INGOT_E2M1_MAX);
        const float s = ingot_e4m3_to_f32(r[at / NV]);
        for (int i = at; i < at + NV; i++) code[i] = s > 0.0f ? ingot_f32_to_e2m1(x[i] / s) : 0;
    }
    ingot_pack_codes(code, f->dim, 4, r + f->dim / NV);
}

static void shape_mx(const ingot_kv_fmt *f, ingot_code_shape *out) {
    (void)f;
    *out = (ingot_code_shape){
        .bits = 4, .level = ingot_levels_e2m1, .order = INGOT_ORDER_HALVES, .scale_kind = INGOT_SCALE_E8M0, .group = MX,
        .scale_stride = 1 + MX / 2, .code_at = 1, .code_stride = 1 + MX / 2,
    };
}

static void shape_nv(const ingot_kv_fmt *f, ingot_code_shape *out) {
    *out = (ingot_code_shape){
        .bits = 4, .level = ingot_levels_e2m1, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_E4M3, .group = NV,
        .scale_stride = 1, .code_at = f->dim / NV, .code_stride = NV / 2,
    };
}

static void decode_mx(const ingot_kv_fmt *f, const void *row, float *x) {
    ingot_code_shape s;
    shape_mx(f, &s);
    ingot_shape_decode(&s, f, row, x);
}

static void decode_nv(const ingot_kv_fmt *f, const void *row, float *x) {
    ingot_code_shape s;
    shape_nv(f, &s);
    ingot_shape_decode(&s, f, row, x);
}

const ingot_codec ingot_codec_mxfp4 = {
    .name = "mxfp4", .source = "arXiv 2310.10537",
    .description = "4-bit floats (E2M1), one power of two per 32 channels of a token (OCP MX)", .sides = INGOT_BOTH_SIDES, .options = "",
    .needs = INGOT_CAL_NONE, .block_bytes = block_bytes_mx, .encode = encode_mx, .decode = decode_mx, .check = ingot_codec_check_dim, .shape = shape_mx,
};

const ingot_codec ingot_codec_nvfp4 = {
    .name = "nvfp4", .source = "NVIDIA",
    .description = "4-bit floats (E2M1), one 8-bit float per 16 channels of a token", .sides = INGOT_BOTH_SIDES, .options = "",
    .needs = INGOT_CAL_NONE, .block_bytes = block_bytes_nv, .encode = encode_nv, .decode = decode_nv, .check = ingot_codec_check_dim, .shape = shape_nv,
};
