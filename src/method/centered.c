/* Without a calibration: keys less the mean of the sequence's first 256, rotated; values rotated. The best of the uncalibrated compositions at equal bits
 * (docs/quality.md). */
#include "method.h"

#define CENTERED(bits)                                                                                                                       \
    const ingot_method ingot_method_centered##bits = {                                                                                       \
        .name = "centered" #bits, .description = #bits "-bit Lloyd-Max codes; keys less the mean of the sequence's first ones, both rotated", \
        .source = "arXiv 2504.19874; arXiv 2410.02367",                                                                                      \
        .k = {.codec = INGOT_CODEC_TQ##bits, .transforms = INGOT_BIT(CENTER) | INGOT_BIT(HADAMARD)},                                         \
        .v = {.codec = INGOT_CODEC_TQ##bits, .transforms = INGOT_BIT(HADAMARD)},                                                             \
        .limits = "room for 256 exact tokens per sequence, for the mean: under a budget of fewer than 400 tokens it costs more than f16", .window = 128, .sinks = 4,                                                                                                           \
    }

CENTERED(3);
CENTERED(4);
