#include "../base/alloc.h"
#include "../base/error.h"
#include "derive.h"
#include "linalg.h"
#include <stddef.h>
#include <string.h>

ingot_status ingot_filter_direction(double *u, const double *second, const double *mean, int dim) {
    const size_t n = (size_t)dim, nn = n * n;
    double projection = 0, *v = ingot_alloc_array(nn + n, sizeof *v, INGOT_MEM_SCRATCH);
    if (!v) return ingot_fail(INGOT_E_NOMEM, "no memory for a matrix of order %d", dim);
    double *w = v + nn;
    memcpy(v, second, sizeof *v * nn);
    ingot_status s = ingot_eigen(v, w, dim);
    if (s == INGOT_OK && !(w[dim - 1] > 0)) s = ingot_fail(INGOT_E_INVALID, "the second moments of the queries are zero");
    if (s == INGOT_OK) {
        memcpy(u, v + (n - 1) * n, sizeof *u * n); /* the largest eigenvalue's vector */
        for (size_t i = 0; i < n; i++) projection += u[i] * mean[i];
        for (size_t i = 0; i < n && projection < 0; i++) u[i] = -u[i];
    }
    ingot_dealloc(v);
    return s;
}
