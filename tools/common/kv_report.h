/* What a cache takes: claimed from the formats, and measured. */
#ifndef TOOLS_KV_REPORT_H
#define TOOLS_KV_REPORT_H
#include "json.h"
#include <ingot/session.h>

/* Bytes that `n_tokens` of `n_positions` take in all layers by the claimed bits (layers with a sliding window have what it spans of the positions), and the
 * elements they are. NULL
 * message: every layer can be stored; else why not (the library's text, valid until its next failure). */
typedef struct kv_claim {
    double bytes, elements;
    const char *unsupported;
} kv_claim;
kv_claim kv_claim_of(const ingot_plan *plan, const ingot_model_info *info, int n_tokens, int n_positions);

/* {method, resident_bytes, f16_bytes, bits_per_element, n_tokens, ...} of the cache as it is now. */
json_t *kv_report_json(const ingot_engine *engine, const ingot_model_info *info);
/* "64 tokens (of 1277 seen) in 14.1 MiB, f16: 28.2 MiB, tables 3.0 MiB", for people. */
const char *format_held(const ingot_cache_memory *m, char *buf, size_t cap);
/* "14.1 MiB" */
const char *format_bytes(double bytes, char *buf, size_t cap);
#endif
