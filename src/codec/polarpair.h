/* The numbers that a block of polarpair has for eight neighbouring pairs, side by side so that compilers use whole registers. The same bits for every width. */
#ifndef INGOT_CODEC_POLARPAIR_H
#define INGOT_CODEC_POLARPAIR_H
#include "../base/half.h"
#include "angle.h"

enum { INGOT_POLARPAIR_CODES = 16, INGOT_POLARPAIR_LANES = 8, INGOT_POLARPAIR_META = 8 }; /* bytes of a pair's numbers */

/* The code's value is first + step * code for the radius; for the angle its cosine and sine. */
typedef struct ingot_polarpair_tables {
    float first[INGOT_POLARPAIR_LANES], step[INGOT_POLARPAIR_LANES];
    float cosine[INGOT_POLARPAIR_CODES][INGOT_POLARPAIR_LANES], sine[INGOT_POLARPAIR_CODES][INGOT_POLARPAIR_LANES];
} ingot_polarpair_tables;

/* Value of code 0, the middle of its cell, and the step to the next; p: f16 step, f16 least. */
static inline void ingot_polarpair_affine(const uint8_t *p, float *first, float *step) {
    *step = ingot_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
    *first = 0.5f * *step + ingot_f16_to_f32((uint16_t)(p[2] | p[3] << 8));
}

/* meta: of the first of the pairs. Each step turns (cosine, sine) by the step of the angle. */
static inline void ingot_polarpair_open(const uint8_t *meta, ingot_polarpair_tables *p) {
    enum { N = INGOT_POLARPAIR_LANES };
    double first[N], step[N], c[N], s[N], step_c[N], step_s[N];
    for (int i = 0; i < N; i++) {
        const uint8_t *at = meta + INGOT_POLARPAIR_META * i;
        float angle_first, angle_step;
        ingot_polarpair_affine(at, &p->first[i], &p->step[i]);
        ingot_polarpair_affine(at + 4, &angle_first, &angle_step);
        first[i] = (double)angle_first, step[i] = (double)angle_step;
    }
    ingot_sin_cos_of(first, N, s, c);
    ingot_sin_cos_of(step, N, step_s, step_c);
    for (int k = 0; k < INGOT_POLARPAIR_CODES; k++)
        for (int i = 0; i < N; i++) {
            const double next = c[i] * step_c[i] - s[i] * step_s[i];
            p->cosine[k][i] = (float)c[i], p->sine[k][i] = (float)s[i];
            s[i] = s[i] * step_c[i] + c[i] * step_s[i];
            c[i] = next;
        }
}
#endif
