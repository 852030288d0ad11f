/* Small floats: FP8 and the two block formats of 4 bits. */
#include "method.h"

const ingot_method ingot_method_fp8 = {
    .name = "fp8", .description = "8-bit floats (E4M3) with one scale per token, as serving systems use", .source = "arXiv 2209.05433",
    .k = {.codec = INGOT_CODEC_FP8}, .v = {.codec = INGOT_CODEC_FP8},
};
const ingot_method ingot_method_mxfp4 = {
    .name = "mxfp4", .description = "4-bit floats, a power of two per 32 channels (OCP MX)", .source = "arXiv 2310.10537",
    .limits = "steps are powers of two, up to twice as coarse as the block needs",
    .k = {.codec = INGOT_CODEC_MXFP4}, .v = {.codec = INGOT_CODEC_MXFP4},
};
const ingot_method ingot_method_nvfp4 = {
    .name = "nvfp4", .description = "4-bit floats, an 8-bit float per 16 channels", .source = "NVIDIA",
    .k = {.codec = INGOT_CODEC_NVFP4}, .v = {.codec = INGOT_CODEC_NVFP4},
};
