#include "hash.h"
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void ingot_hash(uint8_t out[INGOT_HASH_BYTES], const void *data, size_t n) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, n));
    memcpy(out, canonical.digest, INGOT_HASH_BYTES);
}
