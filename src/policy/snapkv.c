/* snapkv: tokens that the newest queries attend to stay (in the manner of SnapKV, arXiv 2404.14469). SnapKV looks once, at the end of the prompt, through a
 * window of 32 queries; here the window goes along with generation: a query's weight falls by 1/32 with each newer one. No pooling over neighbours. */
#include "policy.h"
#include "policy_options.h"

const ingot_policy ingot_policy_snapkv = {
    .name = "snapkv", .source = "arXiv 2404.14469", .description = "tokens that the newest queries attend to stay (in the manner of SnapKV)", INGOT_EVICTING,
    .needs = INGOT_CAL_NONE, .observers = 160, .decay = 31.0f / 32.0f};
