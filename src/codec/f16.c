/* f16: IEEE binary16, two bytes an element. The yardstick, and the format of exact windows. */
#include "codec.h"
#include "codec_util.h"

static size_t block_bytes(const ingot_kv_fmt *f) { return (size_t)f->dim * 2; }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {
    (void)stride, (void)first, (void)n;
    uint8_t *r = row;
    for (int i = 0; i < f->dim; i++) ingot_put_u16(r + 2 * i, ingot_f16_saturate(x[i]));
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    const uint8_t *r = row;
    for (int i = 0; i < f->dim; i++) x[i] = ingot_f16_to_f32(ingot_get_u16(r + 2 * i));
}

const ingot_codec ingot_codec_f16 = {
    .name = "f16", .description = "half floats", .sides = INGOT_BOTH_SIDES, .options = "", .needs = INGOT_CAL_NONE,
    .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = ingot_codec_check_dim,
};
