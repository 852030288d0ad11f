/* Hashes that notice damage and tell contents apart (not for adversaries). */
#ifndef INGOT_BASE_HASH_H
#define INGOT_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

#define INGOT_HASH_BYTES 16
/* XXH3, 128 bits, in its canonical order of bytes. */
void ingot_hash(uint8_t out[INGOT_HASH_BYTES], const void *data, size_t n);
#endif
