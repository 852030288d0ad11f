#include "fingerprint.h"
#include "../base/hash.h"
#include "../base/le.h"

enum { SAMPLE = 4096 };

static void sample(uint8_t out[INGOT_HASH_BYTES], const void *data, size_t bytes, size_t at) {
    const size_t left = bytes - at;
    ingot_hash(out, (const uint8_t *)data + at, left < SAMPLE ? left : SAMPLE);
}

void ingot_fingerprint_add(ingot_fingerprint *f, const char *name, size_t name_bytes, uint32_t type, const uint64_t dims[4], const void *data,
                           size_t bytes) {
    enum { AT_TYPE = 4 * INGOT_HASH_BYTES, AT_DIMS = AT_TYPE + 4, AT_BYTES = AT_DIMS + 32, RECORD = AT_BYTES + 8 };
    uint8_t record[RECORD], hash[INGOT_HASH_BYTES];
    const size_t last = bytes > SAMPLE ? bytes - SAMPLE : 0;
    ingot_hash(record, name, name_bytes);
    sample(record + INGOT_HASH_BYTES, data, bytes, 0);
    sample(record + 2 * INGOT_HASH_BYTES, data, bytes, last / 2);
    sample(record + 3 * INGOT_HASH_BYTES, data, bytes, last);
    ingot_le_put_u32(record + AT_TYPE, type);
    for (int i = 0; i < 4; i++) ingot_le_put_u64(record + AT_DIMS + 8 * i, dims[i]);
    ingot_le_put_u64(record + AT_BYTES, bytes);
    ingot_hash(hash, record, sizeof record);
    f->sum[0] += ingot_le_u64(hash), f->sum[1] += ingot_le_u64(hash + 8), f->n++;
}

void ingot_fingerprint_get(const ingot_fingerprint *f, uint8_t out[16]) {
    uint8_t all[24];
    for (int i = 0; i < 2; i++) ingot_le_put_u64(all + 8 * i, f->sum[i]);
    ingot_le_put_u64(all + 16, f->n);
    ingot_hash(out, all, sizeof all);
}
