/* The level tables of the TurboQuant family, in units of the RMS of the vector.
 *
 * The Lloyd-Max quantiser of N(0, 1) (Max 1960), found by Lloyd's iteration with exact cell means until no level moved by more than 1e-13; mean
 * squared error .363380 .117482 .034548 .009501 .002505 .000644 for 1 to 6 bits. Coordinates of a rotated vector follow a Beta law that is a little
 * narrower, but its own tables gain less than 1 % from 64 dimensions on, so that one table serves all head sizes.
 *
 * Up to 4 bits the levels are integers over one constant, so that a reader with int8 products can take the integers and be exact. This is how the
 * levels are *defined*, not an approximation made by one back end. It costs nothing that can be measured: mean squared error .117482 (2 bits),
 * .034549 (3), .009506 (4, + .06 %). */
#include "tq_common.h"

#define MIRROR1(a) -(a), a
#define MIRROR2(a, b) -(b), MIRROR1(a), b
#define MIRROR4(a, b, c, d) -(d), -(c), MIRROR2(a, b), c, d
#define MIRROR8(a, b, c, d, e, f, g, h) -(h), -(g), -(f), -(e), MIRROR4(a, b, c, d), e, f, g, h

static const float level0[1] = {0};
static const float level1[2] = {MIRROR1(0.797884561f)};
static const float level2[4] = {MIRROR2(3 / 6.6239f, 10 / 6.6239f)};
static const float level3[8] = {MIRROR4(10 / 40.913f, 31 / 40.913f, 55 / 40.913f, 88 / 40.913f)};
static const float level4[16] = {MIRROR8(5 / 38.215f, 15 / 38.215f, 25 / 38.215f, 36 / 38.215f, 48 / 38.215f, 62 / 38.215f, 79 / 38.215f, 104 / 38.215f)};
static const float level5[32] = {
    -3.26073249f, -2.69111958f, -2.3177394f, -2.0287284f, -1.78723322f, -1.57622808f, -1.38634034f, -1.21180438f,
    -1.04878332f, -0.894565117f, -0.747135704f, -0.604933624f, -0.466699523f, -0.331378306f, -0.19805183f, -0.0658896598f,
    0.0658896598f, 0.19805183f, 0.331378306f, 0.466699523f, 0.604933624f, 0.747135704f, 0.894565117f, 1.04878332f,
    1.21180438f, 1.38634034f, 1.57622808f, 1.78723322f, 2.0287284f, 2.3177394f, 2.69111958f, 3.26073249f,
};
static const float level6[64] = {
    -3.74410127f, -3.24043706f, -2.91740679f, -2.67227384f, -2.4713048f, -2.29898121f, -2.14681022f, -2.00961104f,
    -1.88397724f, -1.76754188f, -1.6585889f, -1.55583122f, -1.45827637f, -1.36514102f, -1.27579449f, -1.18972014f,
    -1.10648824f, -1.02573635f, -0.947154945f, -0.870476587f, -0.795467656f, -0.721921941f, -0.649655581f, -0.578503031f,
    -0.508313781f, -0.438949672f, -0.370282645f, -0.302192846f, -0.234566985f, -0.167296903f, -0.100278289f, -0.0334095064f,
    0.0334095064f, 0.100278289f, 0.167296903f, 0.234566985f, 0.302192846f, 0.370282645f, 0.438949672f, 0.508313781f,
    0.578503031f, 0.649655581f, 0.721921941f, 0.795467656f, 0.870476587f, 0.947154945f, 1.02573635f, 1.10648824f,
    1.18972014f, 1.27579449f, 1.36514102f, 1.45827637f, 1.55583122f, 1.6585889f, 1.76754188f, 1.88397724f,
    2.00961104f, 2.14681022f, 2.29898121f, 2.4713048f, 2.67227384f, 2.91740679f, 3.24043706f, 3.74410127f,
};

const ingot_tq_book ingot_tq_lloyd_max[INGOT_TQ_MAX_BITS + 1] = {
    {0, level0, 0}, {1, level1, 0.797884561f}, {2, level2, 1 / 6.6239f}, {3, level3, 1 / 40.913f}, {4, level4, 1 / 38.215f}, {5, level5, 0}, {6, level6, 0},
};

/* Two stages of b bits each, as VeloxQuant has them: Lloyd-Max, then a fixed book for the residual, made for a Laplace density. Its scale is the
 * mean squared error of the first stage where the standard deviation belongs, which is why the second stage is too small: mean squared error .1754
 * and .0489, against .1305 and .0196 for the best symmetric second stage and .1175 and .0095 for plain codes of the same width. The second stage
 * does not depend on the first, so that both add up to one table; as its range is smaller than the distance between cells, the sums are in
 * ascending order, and the nearest sum is what the two stages choose one after the other. Code: first stage in the high bits. */
#define RVQ1(first) first - 0.270622f, first + 0.270622f
#define RVQ2(first) first - 0.174281f, first - 0.040026f, first + 0.040026f, first + 0.174281f
static const float residual1[4] = {RVQ1(-0.797884561f), RVQ1(0.797884561f)};
static const float residual2[16] = {RVQ2(-1.51041761f), RVQ2(-0.452780035f), RVQ2(0.452780035f), RVQ2(1.51041761f)};

const ingot_tq_book ingot_tq_residual[2] = {{2, residual1, 0}, {4, residual2, 0}};
