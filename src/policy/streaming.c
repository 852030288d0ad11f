/* streaming: the newest tokens stay, beside the sinks (StreamingLLM, arXiv 2309.17453, with true positions). */
#include "policy.h"
#include "policy_options.h"

const ingot_policy ingot_policy_streaming = {
    .name = "streaming", .source = "arXiv 2309.17453", .description = "the newest tokens stay (StreamingLLM: use it with sinks)", INGOT_EVICTING, .needs = INGOT_CAL_NONE};
