#include "rng.h"
#include <math.h>

double ingot_rng_normal(ingot_rng *r) {
    const double two_pi = 6.283185307179586476925;
    const double u = 1.0 - ingot_rng_uniform(r); /* (0,1]: the logarithm stays finite */
    const double v = ingot_rng_uniform(r);
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}
