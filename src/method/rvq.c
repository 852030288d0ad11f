/* Residual codes on rotated vectors: as VeloxQuant had them, and with a second stage that fits the first. */
#include "method.h"

#define SIDE(codec_) {.codec = INGOT_CODEC_##codec_, .transforms = INGOT_BIT(HADAMARD)}
#define RVQ(id, codec_, text, limits_)                                                                        \
    const ingot_method ingot_method_##id = {                                                                  \
        .name = #id, .description = text, .source = "VeloxQuant", .limits = limits_, .k = SIDE(codec_), .v = SIDE(codec_), \
    }

RVQ(rvq1, RVQ1, "rotated, residual codes of 1 + 1 bits as VeloxQuant has them (legacy)", "turboquant2 is better at the same size; small models lose the thread");
RVQ(rvq2, RVQ2, "rotated, residual codes of 2 + 2 bits as VeloxQuant has them (legacy)", "turboquant4 is better at the same size");
RVQ(rvqf1, RVQF1, "rotated, residual codes of 1 + 1 bits, repaired: the second stage is folded by the sign of the first", "the codes of turboquant2, in two stages: small models lose the thread beyond an exact window");
RVQ(rvqf2, RVQF2, "rotated, residual codes of 2 + 2 bits, repaired: the second stage lies within the cell of the first", "the codes of turboquant4, in two stages");
