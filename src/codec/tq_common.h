/* What the TurboQuant family shares: scalar codes against a symmetric table, one scale for the channels that share a norm.
 * Sources: TurboQuant, arXiv 2504.19874, section 3.1; the scale rules "ls" and "unbiased" are those of DRIVE (arXiv 2105.08339) and EDEN (2108.08842).
 * For the tests too; the lengths here are not bound to head sizes. */
#ifndef INGOT_TQ_COMMON_H
#define INGOT_TQ_COMMON_H
#include "../base/half.h"
#include "codec.h"
#include <math.h>

enum { INGOT_TQ_MAX_BITS = 6, INGOT_TQ_LANES = 16 };

typedef struct ingot_tq_book {
    int bits;
    const float *level; /* [1 << bits], ascending, symmetric; in units of the RMS of the vector */
    float unit;         /* the levels are integers times this; 0: they are not */
} ingot_tq_book;

extern const ingot_tq_book ingot_tq_lloyd_max[INGOT_TQ_MAX_BITS + 1]; /* by bits; 0 bits: the one level 0 */
extern const ingot_tq_book ingot_tq_residual[2];                      /* VeloxQuant's two stages of 1 and of 2 bits */

/* How the scale s of x^ = s * level is chosen; n channels, c = the levels of the codes. */
typedef enum ingot_tq_rule {
    INGOT_TQ_PAPER,    /* |x| / sqrt(n): what the levels are made for; scores shrink */
    INGOT_TQ_MATCHED,  /* |x| / |c|: the norm is kept */
    INGOT_TQ_LS,       /* <c, x> / |c|^2: least squared error for these codes */
    INGOT_TQ_UNBIASED, /* |x|^2 / <c, x>: <x^, x> = |x|^2 exactly, so that scores keep their temperature */
} ingot_tq_rule;
extern const char *const ingot_tq_rules[]; /* their names, NULL-terminated */

/* The options of a codec whose variants are the scale rules, and their defaults: unbiased keys, least squares for values. */
#define INGOT_TQ_VARIANTS .variant_key = "scale", .variants = ingot_tq_rules, .options = "scale=paper|matched|ls|unbiased"
#define INGOT_TQ_DEFAULT_RULES .default_variant = {INGOT_TQ_UNBIASED, INGOT_TQ_LS}

/* A power of two (normal, and so is its inverse) that brings `top`, the largest magnitude, to [1, 2) - below 4 for the largest floats, 0 stays 0, and what is
 * not normal becomes as large as a power can make it. */
static inline float ingot_tq_power(float top) {
    const uint32_t exponent = ingot_f32_bits(top) >> 23;
    return ingot_bits_f32((exponent < 254 ? 254 - exponent : 1) << 23);
}

/* The scale that a rule gives to n channels, from sums of y = x * power and the levels c: <y, y>, <c, y>, <c, c>. <c, y> is positive unless x is 0, because
 * every level has the sign of its coordinate. */
static inline double ingot_tq_scale(ingot_tq_rule rule, int n, float yy, float cy, float cc, float power) {
    double s = 0;
    if (yy == 0.0f) return 0;
    switch (rule) {
    case INGOT_TQ_PAPER: s = sqrt((double)yy / n); break;
    case INGOT_TQ_MATCHED: s = sqrt((double)yy / (double)cc); break;
    case INGOT_TQ_LS: s = (double)cy / (double)cc; break;
    case INGOT_TQ_UNBIASED: s = (double)yy / (double)cy; break;
    }
    return s / (double)power;
}

static inline size_t ingot_tq_code_bytes(int n, int bits) { return ((size_t)n * (size_t)bits + 7) / 8; }

/* Codes of x [n] (finite) -> code [n]; returns s, not rounded. The thresholds are the midpoints of the levels, and a value on one takes the upper code.
 * x = 0: s = 0. */
double ingot_tq_quantise(const ingot_tq_book *book, ingot_tq_rule rule, const float *x, int n, uint8_t *code);
/* The same, packed: *scale as f16 (at most 65504) and codes [ingot_tq_code_bytes(n, bits)], least significant bit first. n <= INGOT_MAX_HEAD_DIM. */
void ingot_tq_encode(const ingot_tq_book *book, ingot_tq_rule rule, const float *x, int n, uint16_t *scale, uint8_t *codes);
/* x [n] = level * scale, n <= INGOT_MAX_HEAD_DIM. */
void ingot_tq_decode(const ingot_tq_book *book, uint16_t scale, const uint8_t *codes, int n, float *x);
#endif
