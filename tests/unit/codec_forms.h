/* Checks that hold for every codec with a score form; for the tests of the codec families. */
#ifndef TEST_CODEC_FORMS_H
#define TEST_CODEC_FORMS_H
#include "base/rng.h"
#include "codec/codec.h"

/* Format with the default group (clipped to dim unless it counts tokens) and variant. */
ingot_kv_fmt codec_fmt(const char *name, int dim, ingot_kv_side side);

/* Encodes tokens [first, first + n) of random vectors and checks: not a byte more is written than block_bytes; the same bytes again, whatever was there;
 * every score equals <q, decoded> to rounding, absent tokens included; the error of present tokens is at most `nmse`. */
void codec_check_forms(const ingot_kv_fmt *f, ingot_rng *r, int first, int n, double nmse);

/* The head sizes that codecs are checked with, 0-terminated. */
extern const int codec_dims[];
#endif
