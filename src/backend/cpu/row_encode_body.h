/* The table of vector encoders, for files compiled for one instruction set. */
#ifndef INGOT_CPU_ROW_ENCODE_BODY_H
#define INGOT_CPU_ROW_ENCODE_BODY_H
#include "encode_affine.h"
#include "encode_peak.h"
#include "encode_tq.h"

#define ROW_ENCODER(name, group, call)                                                                                                           \
    static void name(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int n, uint8_t *codes, uint16_t *scales, uint16_t *offsets) {      \
        const encode_rows r = rows_of(f, x, stride, n, group);                                                                                   \
        (void)offsets;                                                                                                                           \
        call;                                                                                                                                    \
    }
#define BLOCK_ENCODER(name, bits)                                                                                                                \
    static void name(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, uint8_t *codes, uint16_t *scales, uint16_t *mins) { \
        encode_kivi_keys(f, x, stride, first, n, bits, codes, scales, mins);                                                                     \
    }
#define TQ_ENCODER(name, book, bits) ROW_ENCODER(name, f->dim, encode_tq(&r, &(book), bits, (ingot_tq_rule)f->variant, codes, scales))

ROW_ENCODER(row_int2, f->group, encode_int(&r, 2, codes, scales, offsets))
ROW_ENCODER(row_int3, f->group, encode_int(&r, 3, codes, scales, offsets))
ROW_ENCODER(row_int4, f->group, encode_int(&r, 4, codes, scales, offsets))
ROW_ENCODER(row_int8, f->group, encode_int(&r, 8, codes, scales, offsets))
ROW_ENCODER(row_q8_0, PEAK_BLOCK, encode_q8_0(&r, codes, scales))
ROW_ENCODER(row_q4_0, PEAK_BLOCK, encode_ggml_symmetric(&r, 4, codes, scales))
ROW_ENCODER(row_q5_0, PEAK_BLOCK, encode_ggml_symmetric(&r, 5, codes, scales))
ROW_ENCODER(row_q4_1, PEAK_BLOCK, encode_ggml_affine(&r, 4, codes, scales, offsets))
ROW_ENCODER(row_q5_1, PEAK_BLOCK, encode_ggml_affine(&r, 5, codes, scales, offsets))
ROW_ENCODER(row_iq4_nl, PEAK_BLOCK, encode_iq4_nl(&r, codes, scales))
ROW_ENCODER(row_kivi2, f->group, encode_kivi_values(&r, 2, codes, scales, offsets))
ROW_ENCODER(row_kivi4, f->group, encode_kivi_values(&r, 4, codes, scales, offsets))
BLOCK_ENCODER(block_kivi2, 2)
BLOCK_ENCODER(block_kivi4, 4)
TQ_ENCODER(row_tq1, ingot_tq_lloyd_max[1], 1)
TQ_ENCODER(row_tq2, ingot_tq_lloyd_max[2], 2)
TQ_ENCODER(row_tq3, ingot_tq_lloyd_max[3], 3)
TQ_ENCODER(row_tq4, ingot_tq_lloyd_max[4], 4)
TQ_ENCODER(row_tq5, ingot_tq_lloyd_max[5], 5)
TQ_ENCODER(row_tq6, ingot_tq_lloyd_max[6], 6)
TQ_ENCODER(row_rvq1, ingot_tq_residual[0], 2)
TQ_ENCODER(row_rvq2, ingot_tq_residual[1], 4)

/* rvqf1 and rvqf2 have the codes of tq2 and tq4 (src/codec/tq.c). */
#define ROW_ENCODE_TABLE                                                                                                                         \
    {                                                                                                                                            \
        [INGOT_CODEC_INT2] = {.row = row_int2}, [INGOT_CODEC_INT3] = {.row = row_int3}, [INGOT_CODEC_INT4] = {.row = row_int4},                    \
        [INGOT_CODEC_INT8] = {.row = row_int8}, [INGOT_CODEC_Q8_0] = {.row = row_q8_0}, [INGOT_CODEC_Q4_0] = {.row = row_q4_0},                    \
        [INGOT_CODEC_Q4_1] = {.row = row_q4_1}, [INGOT_CODEC_Q5_0] = {.row = row_q5_0}, [INGOT_CODEC_Q5_1] = {.row = row_q5_1},                    \
        [INGOT_CODEC_IQ4_NL] = {.row = row_iq4_nl}, [INGOT_CODEC_KIVI2] = {row_kivi2, block_kivi2}, [INGOT_CODEC_KIVI4] = {row_kivi4, block_kivi4}, \
        [INGOT_CODEC_TQ1] = {.row = row_tq1}, [INGOT_CODEC_TQ2] = {.row = row_tq2}, [INGOT_CODEC_TQ3] = {.row = row_tq3},                          \
        [INGOT_CODEC_TQ4] = {.row = row_tq4}, [INGOT_CODEC_TQ5] = {.row = row_tq5}, [INGOT_CODEC_TQ6] = {.row = row_tq6},                          \
        [INGOT_CODEC_RVQ1] = {.row = row_rvq1}, [INGOT_CODEC_RVQ2] = {.row = row_rvq2}, [INGOT_CODEC_RVQF1] = {.row = row_tq2},                    \
        [INGOT_CODEC_RVQF2] = {.row = row_tq4},                                                                                                  \
    }
#endif
