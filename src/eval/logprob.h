/* What one row of logits says: log-probabilities and divergences. Loops are written for a compiler that may not reorder sums. */
#ifndef INGOT_EVAL_LOGPROB_H
#define INGOT_EVAL_LOGPROB_H
#include <ingot/types.h>

/* log(sum(exp(x))) of x[n], terms in float (relative error below 3e-7), their sum in double; *top: the first largest element. */
double ingot_log_sum_exp(const float *x, int n, int *top);

typedef struct ingot_divergence {
    double lse_p, lse_q; /* log-sum-exp of both */
    double kl;           /* KL(p || q), nats */
    int top_p, top_q;    /* most probable */
} ingot_divergence;
/* p and q are the softmaxes of logits x[n] and y[n]. */
ingot_divergence ingot_logits_divergence(const float *x, const float *y, int n);
#endif
