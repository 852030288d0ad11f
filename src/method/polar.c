/* Two methods that share the name PolarQuant: recursive angles of rotated vectors, and polar coordinates of the pairs that RoPE rotates. */
#include "method.h"

const ingot_method ingot_method_polarquant = {
    .name = "polarquant", .description = "rotated, recursive polar angles of 4, 2, 2 and 2 bits", .source = "arXiv 2502.02617",
    .k = {.codec = INGOT_CODEC_POLAR, .transforms = INGOT_BIT(HADAMARD)}, .v = {.codec = INGOT_CODEC_POLAR, .transforms = INGOT_BIT(HADAMARD)},
};
const ingot_method ingot_method_polarpair = {
    .name = "polarpair", .description = "keys as radius and angle of the pairs that RoPE rotates, 4 bits each; values as f16", .source = "arXiv 2502.00527",
    .limits = "keys only: name another method for the values (--kv-v)",
    .k = {.codec = INGOT_CODEC_POLARPAIR}, .v = {.codec = INGOT_CODEC_F16},
};
