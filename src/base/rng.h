/* Deterministic random numbers from a fixed integer recipe: splitmix64. */
#ifndef INGOT_BASE_RNG_H
#define INGOT_BASE_RNG_H
#include <stdint.h>

typedef struct ingot_rng { uint64_t state; } ingot_rng;

static inline uint64_t ingot_rng_next(ingot_rng *r) {
    uint64_t z = (r->state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
/* Uniform in [0,1), 53 bits. */
static inline double ingot_rng_uniform(ingot_rng *r) { return (double)(ingot_rng_next(r) >> 11) * 0x1p-53; }
/* Standard normal (Box-Muller, one value per two draws). */
double ingot_rng_normal(ingot_rng *r);
#endif
