/* QJL: the signs of a random projection of the keys; values in KIVI's 2-bit form, as in the paper. */
#include "method.h"

const ingot_method ingot_method_qjl = {
    .name = "qjl", .description = "keys as the signs of a random projection, outlier channels apart; values as kivi2; 128 tokens exact",
    .source = "arXiv 2406.03482", .limits = "scores are unbiased but noisy: small models lose the thread beyond the exact window", .window = 128,
    .k = {.codec = INGOT_CODEC_QJL}, .v = {.codec = INGOT_CODEC_KIVI2},
};
