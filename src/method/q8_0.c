#include "method.h"

const ingot_method ingot_method_q8_0 = {
    .name = "q8_0", .description = "8-bit codes in blocks of 32: hardly distinguishable from f16",
    .k = {.codec = INGOT_CODEC_Q8_0}, .v = {.codec = INGOT_CODEC_Q8_0},
};
