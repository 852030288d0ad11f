#include "moments.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <math.h>
#include <string.h>

/* Vectors that are added at once, and the tile of the matrix that is summed in registers meanwhile. */
enum { BATCH = 16, ROWS = 2, COLUMNS = 8 };

ingot_status ingot_moments_init(ingot_moments *m, int dim) {
    const size_t n = (size_t)dim;
    *m = (ingot_moments){.dim = dim};
    m->sum = ingot_alloc_array(n, sizeof *m->sum, INGOT_MEM_OTHER);
    m->outer = ingot_alloc_array(n, n * sizeof *m->outer, INGOT_MEM_OTHER);
    m->max_abs = ingot_alloc_array(n, sizeof *m->max_abs, INGOT_MEM_OTHER);
    return m->sum && m->outer && m->max_abs ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for the moments of vectors of %d elements", dim);
}

void ingot_moments_free(ingot_moments *m) {
    ingot_dealloc(m->sum);
    ingot_dealloc(m->outer);
    ingot_dealloc(m->max_abs);
    *m = (ingot_moments){0};
}

/* outer[i..i+ROWS)[j..j+COLUMNS) += the products of n vectors. */
static void add_tile(ingot_moments *m, const double (*x)[INGOT_MAX_HEAD_DIM], int n, int i, int j) {
    double sum[ROWS][COLUMNS] = {{0}};
    for (int t = 0; t < n; t++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) sum[r][c] += x[t][i + r] * x[t][j + c];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) m->outer[(i + r) * m->dim + j + c] += sum[r][c];
}

/* The same for one element, where tiles do not fit. */
static void add_element(ingot_moments *m, const double (*x)[INGOT_MAX_HEAD_DIM], int n, int i, int j) {
    double sum = 0.0;
    for (int t = 0; t < n; t++) sum += x[t][i] * x[t][j];
    m->outer[i * m->dim + j] += sum;
}

static void add_batch(ingot_moments *m, const double (*x)[INGOT_MAX_HEAD_DIM], int n) {
    const int dim = m->dim;
    for (int i = 0; i < dim; i += ROWS) {
        int j = i; /* elements below the diagonal inside a tile are summed in vain */
        for (; i + ROWS <= dim && j + COLUMNS <= dim; j += COLUMNS) add_tile(m, x, n, i, j);
        for (; j < dim; j++)
            for (int r = i; r < i + ROWS && r < dim; r++) add_element(m, x, n, r, j);
    }
}

void ingot_moments_add(ingot_moments *m, const float *x, ptrdiff_t stride, int n) {
    double batch[BATCH][INGOT_MAX_HEAD_DIM];
    for (int at = 0; at < n; at += BATCH) {
        const int size = n - at < BATCH ? n - at : BATCH;
        for (int t = 0; t < size; t++) {
            const float *v = x + (at + t) * stride;
            for (int i = 0; i < m->dim; i++) {
                batch[t][i] = (double)v[i];
                m->sum[i] += batch[t][i];
                m->max_abs[i] = fmaxf(m->max_abs[i], fabsf(v[i]));
            }
        }
        add_batch(m, (const double (*)[INGOT_MAX_HEAD_DIM])batch, size);
    }
    m->n += (uint64_t)n;
}

void ingot_moments_mean(const ingot_moments *m, double *mean) {
    for (int i = 0; i < m->dim; i++) mean[i] = m->n ? m->sum[i] / (double)m->n : 0.0;
}

void ingot_moments_second(const ingot_moments *m, bool centred, double *second) {
    const double n = m->n ? (double)m->n : 1.0;
    for (int i = 0; i < m->dim; i++) {
        for (int j = i; j < m->dim; j++) {
            const double e = m->outer[i * m->dim + j] / n, c = centred ? (m->sum[i] / n) * (m->sum[j] / n) : 0.0;
            second[i * m->dim + j] = second[j * m->dim + i] = e - c;
        }
    }
}
