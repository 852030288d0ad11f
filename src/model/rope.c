#include "rope.h"
#include "../base/error.h"
#include <math.h>

#define PI 3.14159265358979323846

/* The pair index at which a rotation makes `turns` full turns over the original context. */
static double yarn_pair_of_turns(const ingot_rope_params *p, double turns) {
    return p->n_rot * log(p->n_ctx_orig / (turns * 2.0 * PI)) / (2.0 * log(p->base));
}

static ingot_status check(const ingot_rope_params *p) {
    if (p->n_rot < 2 || p->n_rot % 2) return ingot_fail(INGOT_E_FORMAT, "rope: %d rotated elements, must be even and at least 2", p->n_rot);
    if (!(p->base > 1.0) || !isfinite(p->base)) return ingot_fail(INGOT_E_FORMAT, "rope: frequency base %g, must be above 1", p->base);
    if (!(p->factor > 0.0) || !isfinite(p->factor)) return ingot_fail(INGOT_E_FORMAT, "rope: scaling factor %g, must be above 0", p->factor);
    for (int j = 0; p->factors && j < p->n_rot / 2; j++)
        if (!(p->factors[j] > 0.0f) || !isfinite(p->factors[j])) return ingot_fail(INGOT_E_FORMAT, "rope: frequency factor %d is %g, must be above 0", j, (double)p->factors[j]);
    if (p->scaling != INGOT_ROPE_YARN) return INGOT_OK;
    if (p->n_ctx_orig < 1) return ingot_fail(INGOT_E_FORMAT, "rope: YaRN needs the original context length, found %d", p->n_ctx_orig);
    if (!(p->beta_fast > 0.0) || !(p->beta_slow > 0.0) || !isfinite(p->beta_fast) || !isfinite(p->beta_slow))
        return ingot_fail(INGOT_E_FORMAT, "rope: YaRN beta_fast %g and beta_slow %g, must be above 0", p->beta_fast, p->beta_slow);
    if (!isfinite(p->ext_factor) || !(p->attn_factor > 0.0) || !isfinite(p->attn_factor))
        return ingot_fail(INGOT_E_FORMAT, "rope: YaRN extension factor %g and attention factor %g", p->ext_factor, p->attn_factor);
    return INGOT_OK;
}

ingot_status ingot_rope_frequencies(const ingot_rope_params *p, double *freq, double *mscale) {
    INGOT_TRY(check(p));
    const bool yarn = p->scaling == INGOT_ROPE_YARN;
    double low = 0.0, high = 0.0;
    if (yarn) {
        low = fmax(0.0, floor(yarn_pair_of_turns(p, p->beta_fast)));
        high = fmin(p->n_rot - 1.0, ceil(yarn_pair_of_turns(p, p->beta_slow)));
    }
    for (int j = 0; j < p->n_rot / 2; j++) {
        double f = pow(p->base, -2.0 * j / p->n_rot);
        if (p->factors) f /= p->factors[j];
        const double scaled = p->scaling == INGOT_ROPE_NONE ? f : f / p->factor;
        /* Fast pairs keep their frequency, slow ones are interpolated, with a ramp between. */
        double keep = 0.0;
        if (yarn) {
            const double ramp = (j - low) / fmax(0.001, high - low);
            keep = (1.0 - fmin(1.0, fmax(0.0, ramp))) * p->ext_factor;
        }
        freq[j] = scaled * (1.0 - keep) + f * keep;
    }
    *mscale = 1.0;
    if (yarn) *mscale = p->attn_factor * (p->ext_factor != 0.0 ? 1.0 + 0.1 * log(p->factor) : 1.0);
    return INGOT_OK;
}

void ingot_rope_table(const ingot_rope_spec *spec, const int *positions, int n, float *cos_out, float *sin_out) {
    const int half = spec->n_rot / 2;
    for (int t = 0; t < n; t++) {
        float *c = cos_out + (ptrdiff_t)t * half, *s = sin_out + (ptrdiff_t)t * half;
        for (int j = 0; j < half; j++) {
            const double angle = positions[t] * spec->freq[j];
            c[j] = (float)(cos(angle) * spec->mscale);
            s[j] = (float)(sin(angle) * spec->mscale);
        }
    }
}
