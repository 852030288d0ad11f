#include "rank.h"
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    const ingot_ranked *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void rank_of(const float *x, int n, ingot_ranked *scratch, double *rank) {
    for (int i = 0; i < n; i++) scratch[i] = (ingot_ranked){x[i], i};
    qsort(scratch, (size_t)n, sizeof *scratch, by_value);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && scratch[end].value == scratch[i].value; end++) continue;
        for (int j = i; j < end; j++) rank[scratch[j].index] = 0.5 * (i + end - 1);
    }
}

double ingot_spearman(const float *a, const float *b, int n, ingot_ranked *scratch, double *ranks) {
    if (n < 2) return 0.0;
    double *x = ranks, *y = ranks + n, xx = 0.0, yy = 0.0, xy = 0.0;
    rank_of(a, n, scratch, x);
    rank_of(b, n, scratch, y);
    const double mean = 0.5 * (n - 1);
    for (int i = 0; i < n; i++) {
        const double u = x[i] - mean, v = y[i] - mean;
        xx += u * u, yy += v * v, xy += u * v;
    }
    return xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : 0.0;
}
