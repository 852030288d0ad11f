/* Rank correlation. */
#ifndef INGOT_EVAL_RANK_H
#define INGOT_EVAL_RANK_H

typedef struct ingot_ranked { float value; int index; } ingot_ranked;

/* Spearman's rho of a[n] and b[n]: the correlation of their ranks, equal values sharing the mean of theirs. 0 when one of them is constant or n < 2.
 * scratch [n], ranks [2 * n]. The values must not be NaN. */
double ingot_spearman(const float *a, const float *b, int n, ingot_ranked *scratch, double *ranks);
#endif
