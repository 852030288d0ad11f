/* Rotary position embedding: frequencies with their scalings, and cos/sin tables for the positions of one batch. */
#ifndef INGOT_MODEL_ROPE_H
#define INGOT_MODEL_ROPE_H
#include <ingot/status.h>
#include <ingot/types.h>

typedef enum ingot_rope_scaling { INGOT_ROPE_NONE, INGOT_ROPE_LINEAR, INGOT_ROPE_YARN } ingot_rope_scaling;

typedef struct ingot_rope_params {
    int n_rot;                /* rotated elements of a head, even */
    double base;              /* freq[j] = base^(-2j / n_rot) before scaling */
    ingot_rope_scaling scaling;
    double factor;            /* context extension, 1 = none */
    const float *factors;     /* [n_rot/2] divisors of the frequencies (Llama 3's rope_freqs) or NULL */
    int n_ctx_orig;           /* YaRN: context length the model was trained with before extension */
    double ext_factor, attn_factor, beta_fast, beta_slow; /* YaRN: 1, 1, 32, 1 in the paper */
} ingot_rope_params;

/* angle(pos, j) = pos * freq[j]; cos and sin are multiplied by mscale. */
typedef struct ingot_rope_spec {
    int n_rot;
    bool neox;    /* pairs (j, j + n_rot/2); else (2j, 2j+1) */
    double mscale;
    double *freq; /* [n_rot/2] */
} ingot_rope_spec;

/* Fills freq[n_rot/2] and *mscale. YaRN: Peng et al., "YaRN: Efficient Context Window Extension of Large Language
 * Models" (arXiv 2309.00071), section 3.2 for the ramp between beta_fast and beta_slow, 3.4 for mscale.
 * Errors: INGOT_E_FORMAT naming the value that makes no frequency. */
ingot_status ingot_rope_frequencies(const ingot_rope_params *p, double *freq, double *mscale);

/* cos, sin [n][n_rot/2] for positions[n]; angles in double, so that they hold at long contexts. */
void ingot_rope_table(const ingot_rope_spec *spec, const int *positions, int n, float *cos_out, float *sin_out);
#endif
