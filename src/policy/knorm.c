/* knorm: keys of small norm stay (arXiv 2406.11430). A rough stand-in for Q-Filters: where keys lie opposite to the queries, long ones get little attention. */
#include "policy.h"
#include "policy_options.h"

static float score(const float *k, int dim, const float *cal) {
    (void)cal;
    float sum = 0.0f;
    for (int i = 0; i < dim; i++) sum += k[i] * k[i];
    return -sum;
}

const ingot_policy ingot_policy_knorm = {
    .name = "knorm", .source = "arXiv 2406.11430", .description = "keys of small norm stay", INGOT_EVICTING, .needs = INGOT_CAL_NONE, .score = score};
