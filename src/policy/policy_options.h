/* What all policies that evict have in common. */
#ifndef INGOT_POLICY_OPTIONS_H
#define INGOT_POLICY_OPTIONS_H
#define INGOT_EVICTING .options = "budget=N|N%,recent=N", .evicts = true
#endif
