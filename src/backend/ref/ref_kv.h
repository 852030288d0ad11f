/* The cache's part of the reference back end. */
#ifndef INGOT_REF_KV_H
#define INGOT_REF_KV_H
#include "../backend.h"
/* Fills tile, attend, attend_scratch_bytes, merge and normalize. */
void ingot_ref_kv_init(ingot_backend *b);
#endif
