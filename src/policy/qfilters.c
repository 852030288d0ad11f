/* qfilters: keys that lie along the direction of the queries stay (Q-Filters, arXiv 2503.02812). The direction u is the first right singular vector of the
 * model's queries, not centred, with the sign that makes their mean projection positive: E <q, k> ~ kappa <k, u> with kappa > 0. */
#include "policy.h"
#include "policy_options.h"

static float score(const float *k, int dim, const float *cal) {
    float sum = 0.0f;
    for (int i = 0; i < dim; i++) sum += k[i] * cal[i];
    return sum;
}

const ingot_policy ingot_policy_qfilters = {
    .name = "qfilters", .source = "arXiv 2503.02812", .description = "keys along the calibrated direction of the queries stay (Q-Filters)", INGOT_EVICTING,
    .needs = INGOT_CAL_FILTER, .score = score};
