/* full: every token stays (in layers with a sliding window: as long as a query can still see it). */
#include "policy.h"

const ingot_policy ingot_policy_full = {.name = "full", .description = "all tokens stay", .options = "", .needs = INGOT_CAL_NONE};
