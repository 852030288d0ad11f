/* First and second moments of a stream of vectors. Products and sums in double: a covariance is a small difference of large moments where vectors share
 * a strong common direction, as behind QK-norm. */
#ifndef INGOT_EVAL_MOMENTS_H
#define INGOT_EVAL_MOMENTS_H
#include <ingot/status.h>
#include <ingot/types.h>

typedef struct ingot_moments {
    int dim;
    uint64_t n;     /* vectors seen */
    double *sum;    /* [dim] */
    double *outer;  /* [dim][dim] sum of x x^T; only the upper triangle (j >= i) is kept up to date */
    float *max_abs; /* [dim] largest |x| */
} ingot_moments;

/* Memory for vectors of dim elements, all zero. INGOT_E_NOMEM; ingot_moments_free is right after it, too. */
ingot_status ingot_moments_init(ingot_moments *m, int dim);
void ingot_moments_free(ingot_moments *m);

/* Adds vectors x + i * stride, i < n. */
void ingot_moments_add(ingot_moments *m, const float *x, ptrdiff_t stride, int n);

/* mean [dim]; second [dim][dim], whole matrices: E[x x^T], or with `centred` the covariance. Zeros when nothing was seen. */
void ingot_moments_mean(const ingot_moments *m, double *mean);
void ingot_moments_second(const ingot_moments *m, bool centred, double *second);
#endif
