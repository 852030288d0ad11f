/* VecInfer: product codes with calibrated codebooks; keys smoothed and rotated, values as they are. */
#include "method.h"

#define VECINFER(bits)                                                                                                                      \
    const ingot_method ingot_method_vecinfer##bits = {                                                                                      \
        .name = "vecinfer" #bits, .description = "one code of " #bits " bits per sub-vector, calibrated codebooks; keys smoothed and rotated; 128 tokens exact", \
        .source = "arXiv 2510.06175", .window = 128,                                                                                        \
        .k = {.codec = INGOT_CODEC_PQ##bits, .transforms = INGOT_BIT(SMOOTH) | INGOT_BIT(HADAMARD)}, .v = {.codec = INGOT_CODEC_PQ##bits},  \
    }

VECINFER(8);
VECINFER(10);
VECINFER(12);
