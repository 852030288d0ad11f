/* f16: IEEE binary16, two bytes an element. The yardstick, and the format of exact windows. */
#include "codec.h"
#include "codec_util.h"

static size_t row_bytes(int dim, int group) {
    (void)group;
    return (size_t)dim * 2;
}

static void encode(const float *x, int dim, int group, void *row) {
    (void)group;
    uint8_t *r = row;
    for (int i = 0; i < dim; i++) ingot_put_u16(r + 2 * i, ingot_f16_saturate(x[i]));
}

static void decode(const void *row, int dim, int group, float *x) {
    (void)group;
    const uint8_t *r = row;
    for (int i = 0; i < dim; i++) x[i] = ingot_f16_to_f32(ingot_get_u16(r + 2 * i));
}

static const char *check(int dim, int group) {
    (void)group;
    return ingot_codec_check_dim(dim);
}

const ingot_codec ingot_codec_f16 = {
    .name = "f16", .description = "half floats", .options = "",
    .row_bytes = row_bytes, .encode = encode, .decode = decode, .check = check,
};
