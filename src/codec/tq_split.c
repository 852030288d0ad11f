/* TurboQuant at 2.5 and 3.5 bits (arXiv 2504.19874, section 4.3): two independent codes, one more bit for the outlier channels.
 * The paper leaves the split open; here the first dim / 4 channels (a transform puts the outliers there) have b + 1 bits and the others b, each part with
 * a norm of its own. Bits per element: b + 1/4 + 32 / dim, exactly 2.5 and 3.5 at 128 dimensions.
 * Row: f16 scale of the outliers, f16 scale of the others, codes of the outliers, codes of the others; each part starts at a byte. */
#include "codec_util.h"
#include "tq_common.h"

typedef struct split {
    const ingot_tq_book *book[2];
    int n[2];  /* channels */
    size_t at; /* codes of the second part */
} split;

static split split_of(const ingot_kv_fmt *f) {
    const int bits = f->codec == INGOT_CODEC_TQ2_5 ? 2 : 3;
    split s = {.book = {&ingot_tq_lloyd_max[bits + 1], &ingot_tq_lloyd_max[bits]}, .n = {f->dim / 4, f->dim - f->dim / 4}};
    s.at = 4 + ingot_tq_code_bytes(s.n[0], bits + 1);
    return s;
}

static size_t block_bytes(const ingot_kv_fmt *f) {
    const split s = split_of(f);
    return s.at + ingot_tq_code_bytes(s.n[1], s.book[1]->bits);
}

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {
    (void)stride, (void)first, (void)n;
    const split s = split_of(f);
    uint8_t *r = row;
    uint16_t scale[2];
    ingot_tq_encode(s.book[0], (ingot_tq_rule)f->variant, x, s.n[0], &scale[0], r + 4);
    ingot_tq_encode(s.book[1], (ingot_tq_rule)f->variant, x + s.n[0], s.n[1], &scale[1], r + s.at);
    ingot_put_u16(r, scale[0]);
    ingot_put_u16(r + 2, scale[1]);
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    const split s = split_of(f);
    const uint8_t *r = row;
    ingot_tq_decode(s.book[0], ingot_get_u16(r), r + 4, s.n[0], x);
    ingot_tq_decode(s.book[1], ingot_get_u16(r + 2), r + s.at, s.n[1], x + s.n[0]);
}

static void parts(const ingot_kv_fmt *f, ingot_code_shape part[2], int channels[2]) {
    const split s = split_of(f);
    for (int i = 0; i < 2; i++) {
        channels[i] = s.n[i];
        part[i] = (ingot_code_shape){.bits = s.book[i]->bits, .level = s.book[i]->level, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16,
                                     .group = s.n[i], .scale_at = 2 * i, .code_at = i ? (int)s.at : 4};
    }
}

#define TQ_SPLIT(id, name_, low, high)                                                                                         \
    const ingot_codec ingot_codec_##id = {                                                                                     \
        .name = name_, .source = "arXiv 2504.19874", .description = "TurboQuant: " high "-bit codes for the first quarter of the channels, " low "-bit codes for the others", \
        .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, INGOT_TQ_VARIANTS, INGOT_TQ_DEFAULT_RULES,                         \
        .block_bytes = block_bytes, .encode = encode, .decode = decode, .parts = parts, .check = ingot_codec_check_dim,                        \
    }
TQ_SPLIT(tq2_5, "tq2_5", "2", "3");
TQ_SPLIT(tq3_5, "tq3_5", "3", "4");
