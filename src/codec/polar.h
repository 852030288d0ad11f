/* The recursive polar form of 16 numbers with unit radius: what the codec is made of and what worked examples are tested with. */
#ifndef INGOT_CODEC_POLAR_H
#define INGOT_CODEC_POLAR_H
#include <stdint.h>

enum { INGOT_POLAR_BLOCK = 16, INGOT_POLAR_LEVELS = 4, INGOT_POLAR_ANGLES = 15 };

/* Level 1: wave[k] = sin((k + 1/2) pi / 8), and wave[k + 4] the cosine, for k < 16. Cosines of the centroids of levels 2 to 4; the sine of k is the cosine of 3 - k. */
extern const float ingot_polar_wave[20], ingot_polar_cosine[3][4];

/* y [16] -> code [15], levels 1 to 4 one after the other (8, 4, 2, 1 angles; 4, 2, 2, 2 bits); returns the radius |y|. Zero vectors have codes 0. */
double ingot_polar_codes(const float *y, uint8_t *code);
/* code [15] -> y [16] of length radius. */
void ingot_polar_expand(const uint8_t *code, float radius, float *y);
/* Level 1 of a score: t [8][16], entry [j][k] = q[2j] cos k + q[2j + 1] sin k. */
void ingot_polar_table(const float *q, float *t);
/* Levels 2 to 4 of a score, in place: t [16 >> (level - 1)] -> t [16 >> level]; code as above. */
void ingot_polar_contract(int level, const uint8_t *code, float *t);
#endif
