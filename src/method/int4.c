#include "method.h"

const ingot_method ingot_method_int4 = {
    .name = "int4", .description = "4-bit affine codes, groups along the channels of a token: under a third of f16",
    .k = {.codec = INGOT_CODEC_INT4}, .v = {.codec = INGOT_CODEC_INT4},
};
