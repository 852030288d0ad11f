#include "method.h"

const ingot_method ingot_method_f16 = {
    .name = "f16", .description = "half floats: the yardstick, nothing is lost but what f16 rounds",
    .k = {.codec = INGOT_CODEC_F16}, .v = {.codec = INGOT_CODEC_F16},
};
