/* TurboQuant: a random rotation makes every channel alike, so that one table of levels serves all. */
#include "method.h"

#define ROTATED(codec_) {.codec = INGOT_CODEC_##codec_, .transforms = INGOT_BIT(HADAMARD)}
#define SPLIT(codec_) {.codec = INGOT_CODEC_##codec_, .transforms = INGOT_BIT(SPLIT)}
#define TURBOQUANT(id, text, limits_, side)                                                                    \
    const ingot_method ingot_method_turboquant##id = {                                                         \
        .name = "turboquant" #id, .description = text, .source = "arXiv 2504.19874", .limits = limits_, .k = side, .v = side, \
    }
#define LOW "small models lose the thread below 3 bits beyond an exact window"

TURBOQUANT(1, "rotated, 1-bit Lloyd-Max codes", LOW, ROTATED(TQ1));
TURBOQUANT(2, "rotated, 2-bit Lloyd-Max codes", LOW, ROTATED(TQ2));
TURBOQUANT(3, "rotated, 3-bit Lloyd-Max codes", NULL, ROTATED(TQ3));
TURBOQUANT(4, "rotated, 4-bit Lloyd-Max codes: about a quarter of f16", NULL, ROTATED(TQ4));
TURBOQUANT(5, "rotated, 5-bit Lloyd-Max codes", NULL, ROTATED(TQ5));
TURBOQUANT(6, "rotated, 6-bit Lloyd-Max codes", NULL, ROTATED(TQ6));
TURBOQUANT(2_5, "3 bits for the quarter of the channels that a calibration found largest, 2 for the others, each part rotated", LOW, SPLIT(TQ2_5));
TURBOQUANT(3_5, "4 bits for the quarter of the channels that a calibration found largest, 3 for the others, each part rotated", NULL, SPLIT(TQ3_5));

#define PROD "for comparison: plain codes of the same bits come closer"
#define PROD_LOW PROD "; small models lose the thread"
TURBOQUANT(_prod2, "rotated, 1-bit codes and a 1-bit sketch of the residual", PROD_LOW, ROTATED(TQPROD2));
TURBOQUANT(_prod3, "rotated, 2-bit codes and a 1-bit sketch of the residual", PROD "; some small models (Gemma 3 270M) lose the thread", ROTATED(TQPROD3));
TURBOQUANT(_prod4, "rotated, 3-bit codes and a 1-bit sketch of the residual", PROD, ROTATED(TQPROD4));
