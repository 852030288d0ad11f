/* Affine integer codes, groups along the channels of a token. */
#include "method.h"

#define INT(bits, text, ...)                                                                        \
    const ingot_method ingot_method_int##bits = {                                                   \
        .name = "int" #bits, .description = #bits "-bit affine codes, groups along the channels of a token" text, \
        .k = {.codec = INGOT_CODEC_INT##bits}, .v = {.codec = INGOT_CODEC_INT##bits}, __VA_ARGS__   \
    }

INT(2, "", .limits = "small models lose the thread at 2 bits; add hadamard and center, and keep a window");
INT(3, "", .limits = "add hadamard: a single large channel costs all others of its group");
INT(4, ": under a third of f16", .limits = "keys with a few large channels (QK-norm) need hadamard or a small group");
INT(8, ": hardly distinguishable from f16", .limits = NULL);
