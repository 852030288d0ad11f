/* Arithmetic on sizes that come from outside. Each returns false on overflow. */
#ifndef INGOT_BASE_CHECKED_H
#define INGOT_BASE_CHECKED_H
#include <stdbool.h>
#include <stdint.h>
static inline bool ingot_mul_u64(uint64_t a, uint64_t b, uint64_t *r) { return !__builtin_mul_overflow(a, b, r); }
static inline bool ingot_add_u64(uint64_t a, uint64_t b, uint64_t *r) { return !__builtin_add_overflow(a, b, r); }
#endif
