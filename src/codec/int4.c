/* int4: affine 4-bit codes in groups along the channels of one token; the last group may be shorter.
 * Row: scales f16 [n_groups], mids f16 [n_groups], codes [dim / 2] with the even element in the low nibble.
 * x^ = (code - 8) * scale + mid. The signed form lets a reader take integer dot products of centred codes. */
#include "codec.h"
#include "codec_util.h"
#include <math.h>

static int n_groups(int dim, int group) { return (dim + group - 1) / group; }

static size_t block_bytes(const ingot_kv_fmt *f) { return (size_t)n_groups(f->dim, f->group) * 4 + (size_t)f->dim / 2; }

static float clip(float x) { return fminf(fmaxf(x, -INGOT_F16_MAX), INGOT_F16_MAX); }

/* The 16 levels are centred on the group's range with the *rounded* scale, so that what the scale lost or gained by
 * rounding is shared by both ends; codes are then taken against the rounded scale and mid that the reader will see. */
static void encode_group(const float *x, int n, uint16_t *scale, uint16_t *mid, uint8_t *codes) {
    float lo = clip(x[0]), hi = lo;
    for (int i = 1; i < n; i++) {
        const float c = clip(x[i]);
        lo = fminf(lo, c), hi = fmaxf(hi, c);
    }
    *scale = ingot_f32_to_f16((hi - lo) / 15.0f);
    const float s = ingot_f16_to_f32(*scale);
    *mid = ingot_f16_saturate((lo + hi) * 0.5f + s * 0.5f);
    const float m = ingot_f16_to_f32(*mid), inverse = s > 0.0f ? 1.0f / s : 0.0f;
    for (int i = 0; i < n; i += 2) {
        const float a = rintf((clip(x[i]) - m) * inverse), b = rintf((clip(x[i + 1]) - m) * inverse);
        const int lo4 = (int)fminf(fmaxf(a, -8.0f), 7.0f) + 8, hi4 = (int)fminf(fmaxf(b, -8.0f), 7.0f) + 8;
        codes[i / 2] = (uint8_t)(lo4 | hi4 << 4);
    }
}

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    const int dim = f->dim, group = f->group, ng = n_groups(dim, group);
    uint8_t *r = row;
    for (int g = 0; g < ng; g++) {
        const int at = g * group, n = dim - at < group ? dim - at : group;
        uint16_t scale, mid;
        encode_group(x + at, n, &scale, &mid, r + 4 * ng + at / 2);
        ingot_put_u16(r + 2 * g, scale);
        ingot_put_u16(r + 2 * (ng + g), mid);
    }
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    const int dim = f->dim, group = f->group, ng = n_groups(dim, group);
    const uint8_t *r = row, *codes = r + 4 * ng;
    for (int g = 0; g < ng; g++) {
        const float s = ingot_f16_to_f32(ingot_get_u16(r + 2 * g)), m = ingot_f16_to_f32(ingot_get_u16(r + 2 * (ng + g)));
        const int end = (g + 1) * group < dim ? (g + 1) * group : dim;
        for (int i = g * group; i < end; i++) {
            const int code = codes[i / 2] >> (i & 1) * 4 & 15;
            x[i] = (float)(code - 8) * s + m;
        }
    }
}

static const char *check(const ingot_kv_fmt *f) {
    if (f->group < 16 || f->group % 16) return "the group must be a multiple of 16";
    return ingot_codec_check_dim(f);
}

static const int groups[] = {32, 64, 128, 0};

const ingot_codec ingot_codec_int4 = {
    .name = "int4", .description = "4-bit codes, affine: one scale and one mid per group of channels of a token",
    .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, .default_group = 32, .groups = groups, .options = "group=32|64|128",
    .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = check,
};
