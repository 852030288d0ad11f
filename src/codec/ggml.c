/* ggml's blocks of 32 channels with codes of 4 and 5 bits; the last block may be shorter, of 16. Block: f16 d, for the _1 types f16 m, for 5 bits the
 * fifth bits of the n codes (n / 8 bytes, bit j for element j), then nibbles, byte j with elements j (low) and j + n / 2 (high).
 * Codes are computed in float with the unrounded 1 / d, as ggml's reference quantiser (ggml-quants.c) does, so that whole blocks equal its bytes;
 * only where its numbers would overflow does this clamp. */
#include "pack.h"
#include "range.h"
#include "shape.h"
#include <math.h>

enum { BLOCK = 32 };

/* One type: bits of a code; whether there is a minimum m (_1), else levels around 0 (_0). */
typedef struct type { int bits; bool has_min; } type;

static int header_bytes(type t) { return t.has_min ? 4 : 2; }
static int bytes_of(type t, int n) { return header_bytes(t) + n * t.bits / 8; }

static size_t block_bytes(const ingot_kv_fmt *f, type t) {
    return (size_t)(f->dim / BLOCK) * (size_t)bytes_of(t, BLOCK) + (f->dim % BLOCK ? (size_t)bytes_of(t, f->dim % BLOCK) : 0);
}

/* The element of largest magnitude, the first of equals, gets the lowest level, -2^(bits - 1). Codes are offset by 2^(bits - 1). */
static void quantise_symmetric(const float *x, int n, int bits, uint8_t *r, uint8_t *code) {
    const float half = (float)(1 << (bits - 1));
    float largest = 0.0f, peak = 0.0f;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > largest) largest = fabsf(x[i]), peak = x[i];
    const float d = ingot_f16_clip(peak / -half), inverse = d != 0.0f ? 1.0f / d : 0.0f;
    ingot_put_u16(r, ingot_f32_to_f16(d));
    /* A subnormal d has an infinite inverse; its half is 0, so any code will do (fmaxf takes the number, not the NaN). */
    for (int i = 0; i < n; i++) code[i] = (uint8_t)fminf(fmaxf(x[i] * inverse + (half + 0.5f), 0.0f), 2.0f * half - 1.0f);
}

static void quantise_affine(const float *x, int n, int bits, uint8_t *r, uint8_t *code) {
    const float top = (float)((1 << bits) - 1);
    float lo, hi;
    ingot_clipped_range(x, n, 1, &lo, &hi);
    const float d = (hi - lo) / top, inverse = d != 0.0f ? 1.0f / d : 0.0f;
    ingot_put_u16(r, ingot_f32_to_f16(d));
    ingot_put_u16(r + 2, ingot_f32_to_f16(lo));
    for (int i = 0; i < n; i++) code[i] = (uint8_t)fminf(fmaxf((ingot_f16_clip(x[i]) - lo) * inverse + 0.5f, 0.0f), top);
}

static void encode(const ingot_kv_fmt *f, const float *x, type t, void *row) {
    uint8_t *r = row;
    for (int at = 0; at < f->dim; at += BLOCK) {
        const int n = f->dim - at < BLOCK ? f->dim - at : BLOCK;
        uint8_t code[BLOCK], fifth[BLOCK], *out = r + header_bytes(t);
        if (t.has_min) quantise_affine(x + at, n, t.bits, r, code);
        else quantise_symmetric(x + at, n, t.bits, r, code);
        if (t.bits == 5) {
            for (int i = 0; i < n; i++) fifth[i] = code[i] >> 4;
            ingot_pack_codes(fifth, n, 1, out);
            out += n / 8;
        }
        ingot_pack_halves(code, n, out);
        r += bytes_of(t, n);
    }
}

static void shape(type t, ingot_code_shape *out) {
    const int header = header_bytes(t), stride = bytes_of(t, BLOCK);
    *out = (ingot_code_shape){
        .bits = t.bits, .level = t.has_min ? ingot_levels_plain() : ingot_levels_centred(t.bits), .unit = 1, .signed_scale = !t.has_min, .order = INGOT_ORDER_HALVES,
        .scale_kind = INGOT_SCALE_F16, .group = BLOCK, .has_offset = t.has_min, .scale_stride = stride, .offset_at = 2, .offset_stride = stride,
        .code_at = header, .code_stride = stride,
    };
}

static void decode(const ingot_kv_fmt *f, const void *row, type t, float *x) {
    ingot_code_shape s;
    shape(t, &s);
    ingot_shape_decode(&s, f, row, x);
}

#define GGML(name_, bits, has_min, what)                                                                                                         \
    static size_t block_bytes_##name_(const ingot_kv_fmt *f) { return block_bytes(f, (type){bits, has_min}); }                                    \
    static void encode_##name_(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {                            \
        (void)stride, (void)first, (void)n;                                                                                                      \
        encode(f, x, (type){bits, has_min}, row);                                                                                                \
    }                                                                                                                                            \
    static void shape_##name_(const ingot_kv_fmt *f, ingot_code_shape *out) {                                                                     \
        (void)f;                                                                                                                                 \
        shape((type){bits, has_min}, out);                                                                                                       \
    }                                                                                                                                            \
    static void decode_##name_(const ingot_kv_fmt *f, const void *row, float *x) { decode(f, row, (type){bits, has_min}, x); }                    \
    const ingot_codec ingot_codec_##name_ = {                                                                                                     \
        .name = #name_, .source = "ggml (llama.cpp)",                                                                                                    \
        .description = what " per 32 channels of a token (ggml's blocks)", .sides = INGOT_BOTH_SIDES, .options = "",                                     \
        .needs = INGOT_CAL_NONE, .block_bytes = block_bytes_##name_, .encode = encode_##name_, .decode = decode_##name_,                           \
        .check = ingot_codec_check_dim, .shape = shape_##name_,                                                                                         \
    };
GGML(q4_0, 4, false, "4-bit codes, one step")
GGML(q4_1, 4, true, "4-bit codes, one step and one minimum")
GGML(q5_0, 5, false, "5-bit codes, one step")
GGML(q5_1, 5, true, "5-bit codes, one step and one minimum")
