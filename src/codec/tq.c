/* TurboQuant MSE (arXiv 2504.19874, algorithm 1) at 1 to 6 bits, and RVQ as VeloxQuant has it and repaired. The rotation is a transform of its own.
 * Row: f16 scale s, then the codes, least significant bit first. x^ = level[code] * s.
 *
 * RVQ codes a coordinate in two stages, 2b bits. The original books (rvq1, rvq2) lose against plain codes of the same width because their second
 * stage is symmetric while the residual is not (tq_levels.c). Folding the second stage by the sign of the first (work on r * sign) mends 1 + 1 bits
 * and gives exactly the 2-bit Lloyd-Max quantiser. For 2 + 2 bits let the second stage depend on the cell of the first, and choose the cells as
 * unions of four neighbouring cells of the 4-bit quantiser: the whole code is then the 4-bit Lloyd-Max code (.00951, against .00973 for the best
 * second stage inside the cells of the 2-bit quantiser), and its two high bits alone are a 2-bit code with levels +-.4967 and +-1.6050 (.1203,
 * against .1175). So rvqf1 and rvqf2 have the codes and levels of tq2 and tq4; what they add is that the high half of each code stands by itself. */
#include "codec_util.h"
#include "tq_common.h"

static const ingot_tq_book *book_of(const ingot_kv_fmt *f) {
    switch (f->codec) {
    case INGOT_CODEC_RVQ1: return &ingot_tq_residual[0];
    case INGOT_CODEC_RVQ2: return &ingot_tq_residual[1];
    case INGOT_CODEC_RVQF1: return &ingot_tq_lloyd_max[2];
    case INGOT_CODEC_RVQF2: return &ingot_tq_lloyd_max[4];
    default: return &ingot_tq_lloyd_max[1 + f->codec - INGOT_CODEC_TQ1];
    }
}

static size_t block_bytes(const ingot_kv_fmt *f) { return 2 + ingot_tq_code_bytes(f->dim, book_of(f)->bits); }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {
    (void)stride, (void)first, (void)n;
    uint16_t scale;
    ingot_tq_encode(book_of(f), (ingot_tq_rule)f->variant, x, f->dim, &scale, (uint8_t *)row + 2);
    ingot_put_u16(row, scale);
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    ingot_tq_decode(book_of(f), ingot_get_u16(row), (const uint8_t *)row + 2, f->dim, x);
}

static void shape(const ingot_kv_fmt *f, ingot_code_shape *out) {
    const ingot_tq_book *book = book_of(f);
    *out = (ingot_code_shape){
        .bits = book->bits, .level = book->level, .unit = book->unit, .order = INGOT_ORDER_LSB, .scale_kind = INGOT_SCALE_F16, .group = f->dim, .code_at = 2};
}

#define TQ(id, text, ...)                                                                                                  \
    const ingot_codec ingot_codec_##id = {                                                                                 \
        .name = #id, .description = text, .sides = INGOT_BOTH_SIDES, .needs = INGOT_CAL_NONE, INGOT_TQ_VARIANTS, __VA_ARGS__, \
        .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = ingot_codec_check_dim, .shape = shape,    \
    }
#define TQ_MSE(id, bits) TQ(id, "TurboQuant: " bits " codes of the Lloyd-Max quantiser, one scale per token", .source = "arXiv 2504.19874", INGOT_TQ_DEFAULT_RULES)

TQ_MSE(tq1, "1-bit");
TQ_MSE(tq2, "2-bit");
TQ_MSE(tq3, "3-bit");
TQ_MSE(tq4, "4-bit");
TQ_MSE(tq5, "5-bit");
TQ_MSE(tq6, "6-bit");
TQ(rvq1, "residual codes of 1 + 1 bits with VeloxQuant's books (legacy: tq2 is better at the same size)",
   .source = "VeloxQuant", .default_variant = {INGOT_TQ_PAPER, INGOT_TQ_PAPER});
TQ(rvq2, "residual codes of 2 + 2 bits with VeloxQuant's books (legacy: tq4 is better at the same size)",
   .source = "VeloxQuant", .default_variant = {INGOT_TQ_PAPER, INGOT_TQ_PAPER});
TQ(rvqf1, "residual codes of 1 + 1 bits, the second folded by the sign of the first: as good as tq2", .source = "VeloxQuant", INGOT_TQ_DEFAULT_RULES);
TQ(rvqf2, "residual codes of 2 + 2 bits, the second within the cell of the first: as good as tq4", .source = "VeloxQuant", INGOT_TQ_DEFAULT_RULES);
