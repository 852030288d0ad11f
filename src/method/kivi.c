/* KIVI: keys per channel over groups of tokens, values per token; the newest tokens exact (the residual of the paper, R = 128). */
#include "method.h"

#define KIVI(bits, ...)                                                                                                                     \
    const ingot_method ingot_method_kivi##bits = {                                                                                          \
        .name = "kivi" #bits, .description = #bits "-bit codes, keys per channel over groups of tokens, values per token; 128 tokens exact", \
        .source = "arXiv 2402.02750", .window = 128,                                                                                        \
        .k = {.codec = INGOT_CODEC_KIVI##bits}, .v = {.codec = INGOT_CODEC_KIVI##bits}, __VA_ARGS__                                         \
    }

KIVI(2, .limits = "small models lose the thread at 2 bits beyond the exact window");
KIVI(4, .limits = NULL);
