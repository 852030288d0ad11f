/* The block formats of ggml, byte for byte, as llama.cpp's --cache-type-k and --cache-type-v name them. */
#include "method.h"

#define GGML(id, codec_, text)                                                      \
    const ingot_method ingot_method_##id = {                                        \
        .name = #id, .description = text, .source = "ggml (llama.cpp)",             \
        .k = {.codec = INGOT_CODEC_##codec_}, .v = {.codec = INGOT_CODEC_##codec_}, \
    }

GGML(q4_0, Q4_0, "ggml's 4-bit codes in blocks of 32, one step each");
GGML(q4_1, Q4_1, "ggml's 4-bit codes in blocks of 32, step and minimum each");
GGML(q5_0, Q5_0, "ggml's 5-bit codes in blocks of 32, one step each");
GGML(q5_1, Q5_1, "ggml's 5-bit codes in blocks of 32, step and minimum each");
GGML(q8_0, Q8_0, "8-bit codes in blocks of 32: hardly distinguishable from f16");
GGML(iq4_nl, IQ4_NL, "ggml's 4-bit codes of uneven levels in blocks of 32");
