#include "shape.h"
#include "codec_util.h"
#include "float_bits.h"
#include "pack.h"

#define N4(i) (i), (i) + 1, (i) + 2, (i) + 3
#define N16(i) N4(i), N4((i) + 4), N4((i) + 8), N4((i) + 12)
#define N64(i) N16(i), N16((i) + 16), N16((i) + 32), N16((i) + 48)
const float ingot_levels_int[256] = {N64(-128), N64(-64), N64(0), N64(64)};
const float ingot_levels_int8[256] = {N64(0), N64(64), N64(-128), N64(-64)};

const float ingot_levels_iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

const float ingot_levels_e2m1[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};

/* Eight numbers of one exponent: first, first + step, ... */
#define E8(first, step) first, first + step, first + 2 * step, first + 3 * step, first + 4 * step, first + 5 * step, first + 6 * step, first + 7 * step
#define E4M3(s)                                                                                                                                      \
    E8(s 0.0f, s 0x1p-9f), E8(s 0x1p-6f, s 0x1p-9f), E8(s 0x1p-5f, s 0x1p-8f), E8(s 0x1p-4f, s 0x1p-7f), E8(s 0x1p-3f, s 0x1p-6f),                     \
        E8(s 0x1p-2f, s 0x1p-5f), E8(s 0x1p-1f, s 0x1p-4f), E8(s 0x1p0f, s 0x1p-3f), E8(s 0x1p1f, s 0x1p-2f), E8(s 0x1p2f, s 0x1p-1f),                 \
        E8(s 0x1p3f, s 0x1p0f), E8(s 0x1p4f, s 0x1p1f), E8(s 0x1p5f, s 0x1p2f), E8(s 0x1p6f, s 0x1p3f), E8(s 0x1p7f, s 0x1p4f), E8(s 0x1p8f, s 0x1p5f)
const float ingot_levels_e4m3[256] = {E4M3(+), E4M3(-)};

static float scale_at(ingot_scale_kind kind, const uint8_t *p) {
    switch (kind) {
    case INGOT_SCALE_E4M3: return ingot_e4m3_to_f32(*p);
    case INGOT_SCALE_E8M0: return ingot_e8m0_to_f32(*p);
    default: return ingot_f16_to_f32(ingot_get_u16(p));
    }
}

static void unpack_halves(const uint8_t *in, int n, int bits, uint8_t *code) {
    const uint8_t *nibbles = bits == 5 ? in + n / 8 : in;
    ingot_unpack_halves(nibbles, n, code);
    for (int i = 0; bits == 5 && i < n; i++) code[i] |= (uint8_t)((in[i / 8] >> i % 8 & 1) << 4);
}

static void pack_halves(const uint8_t *code, int n, int bits, uint8_t *out) {
    if (bits == 5) {
        uint8_t fifth[INGOT_MAX_HEAD_DIM];
        for (int i = 0; i < n; i++) fifth[i] = code[i] >> 4;
        ingot_pack_codes(fifth, n, 1, out);
        out += n / 8;
    }
    ingot_pack_halves(code, n, out);
}

/* Where the codes of a group lie, and how many they are; blocks of several tokens have them all in one run. */
static int run_of(const ingot_code_shape *s, const ingot_kv_fmt *f, int t, int g, ptrdiff_t *at) {
    const int group = s->token_stride ? f->dim : s->group, left = f->dim - g * group;
    *at = s->code_at + (ptrdiff_t)g * s->code_stride + (ptrdiff_t)t * s->token_stride;
    return left < group ? left : group;
}

void ingot_shape_get_codes(const ingot_code_shape *s, const ingot_kv_fmt *f, const void *block, int t, uint8_t *code) {
    for (int g = 0, c = 0, n; c < f->dim; g++, c += n) {
        ptrdiff_t at;
        n = run_of(s, f, t, g, &at);
        if (s->order == INGOT_ORDER_HALVES) unpack_halves((const uint8_t *)block + at, n, s->bits, code + c);
        else ingot_unpack_codes((const uint8_t *)block + at, n, s->bits, code + c);
    }
}

void ingot_shape_set_codes(const ingot_code_shape *s, const ingot_kv_fmt *f, const uint8_t *code, int t, void *block) {
    for (int g = 0, c = 0, n; c < f->dim; g++, c += n) {
        ptrdiff_t at;
        n = run_of(s, f, t, g, &at);
        if (s->order == INGOT_ORDER_HALVES) pack_halves(code + c, n, s->bits, (uint8_t *)block + at);
        else ingot_pack_codes(code + c, n, s->bits, (uint8_t *)block + at);
    }
}

void ingot_shape_decode(const ingot_code_shape *s, const ingot_kv_fmt *f, const void *row, float *x) {
    const uint8_t *r = row;
    uint8_t code[INGOT_MAX_HEAD_DIM];
    for (int g = 0, at = 0; at < f->dim; g++, at += s->group) {
        const int n = f->dim - at < s->group ? f->dim - at : s->group;
        const uint8_t *codes = r + s->code_at + (ptrdiff_t)g * s->code_stride;
        const float scale = scale_at(s->scale_kind, r + s->scale_at + (ptrdiff_t)g * s->scale_stride);
        const float offset = s->has_offset ? ingot_f16_to_f32(ingot_get_u16(r + s->offset_at + (ptrdiff_t)g * s->offset_stride)) : 0.0f;
        if (s->order == INGOT_ORDER_HALVES) unpack_halves(codes, n, s->bits, code);
        else ingot_unpack_codes(codes, n, s->bits, code);
        for (int i = 0; i < n; i++) {
            const float product = s->level[code[i]] * scale;
            x[at + i] = s->has_offset ? product + offset : product;
        }
    }
}
