/* Calibrated: keys less their mean and whitened against the second moments of keys and queries, values rotated. */
#include "method.h"

#define WUSH(bits)                                                                                                                          \
    const ingot_method ingot_method_wush##bits = {                                                                                          \
        .name = "wush" #bits, .description = #bits "-bit Lloyd-Max codes; keys calibrated (mean and whitening per layer and head), values rotated", \
        .source = "WUSH, arXiv 2512.00956",                                                                                                 \
        .k = {.codec = INGOT_CODEC_TQ##bits, .transforms = INGOT_BIT(MEAN) | INGOT_BIT(WHITEN)},                                            \
        .v = {.codec = INGOT_CODEC_TQ##bits, .transforms = INGOT_BIT(HADAMARD)},                                                            \
        .window = 128, .sinks = 4,                                                                                                          \
    }

WUSH(2);
WUSH(3);
WUSH(4);
