/* h2o: tokens that have received the most attention since they came stay (heavy hitters, in the manner of H2O, arXiv 2306.14048). */
#include "policy.h"
#include "policy_options.h"
#include <limits.h>

const ingot_policy ingot_policy_h2o = {
    .name = "h2o", .source = "arXiv 2306.14048", .description = "tokens that received the most attention so far stay (heavy hitters, in the manner of H2O)", INGOT_EVICTING,
    .needs = INGOT_CAL_NONE, .observers = INT_MAX, .decay = 1.0f};
