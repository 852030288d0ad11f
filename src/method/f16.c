#include "method.h"

const ingot_method ingot_method_f16 = {
    .name = "f16", .description = "half floats: the yardstick, nothing is lost but what f16 rounds",
    .codec = INGOT_CODEC_F16, .transform = INGOT_TRANSFORM_NONE, .policy = INGOT_POLICY_FULL,
};
