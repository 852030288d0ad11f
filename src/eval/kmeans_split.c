#include "kmeans_split.h"

static kmeans_cell measure(size_t begin, size_t end, const uint32_t *order, const float *points, int dim) {
    double sum[INGOT_KMEANS_MAX_DIM] = {0}, square[INGOT_KMEANS_MAX_DIM] = {0};
    const double n = (double)(end - begin);
    for (size_t i = begin; i < end; i++) {
        const float *x = points + (size_t)order[i] * (size_t)dim;
        for (int j = 0; j < dim; j++) sum[j] += (double)x[j], square[j] += (double)x[j] * (double)x[j];
    }
    kmeans_cell c = {.begin = begin, .end = end};
    double widest = -1.0;
    for (int j = 0; j < dim; j++) {
        const double error = square[j] - sum[j] * sum[j] / n;
        c.error += error > 0.0 ? error : 0.0;
        if (error <= widest) continue;
        widest = error, c.axis = j, c.at = (float)(sum[j] / n);
    }
    return c;
}

/* Puts the points below `at` first; where they end. */
static size_t partition(const kmeans_cell *c, uint32_t *order, const float *points, int dim) {
    size_t low = c->begin, high = c->end;
    while (low < high) {
        if (points[(size_t)order[low] * (size_t)dim + (size_t)c->axis] < c->at) {
            low++;
            continue;
        }
        const uint32_t t = order[--high];
        order[high] = order[low];
        order[low] = t;
    }
    return low;
}

/* cells [n] as a heap, the largest error at 0. */
static void sift_down(kmeans_cell *cells, int n, int i) {
    const kmeans_cell moved = cells[i];
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && cells[child + 1].error > cells[child].error) child++;
        if (cells[child].error <= moved.error) break;
        cells[i] = cells[child];
    }
    cells[i] = moved;
}

static void sift_up(kmeans_cell *cells, int i) {
    const kmeans_cell moved = cells[i];
    for (; i > 0 && cells[(i - 1) / 2].error < moved.error; i = (i - 1) / 2) cells[i] = cells[(i - 1) / 2];
    cells[i] = moved;
}

int ingot_kmeans_split(kmeans_cell *cells, int k, uint32_t *order, const float *points, size_t n, int dim) {
    int n_cells = 1;
    cells[0] = measure(0, n, order, points, dim);
    while (n_cells < k && cells[0].error > 0.0) {
        const kmeans_cell c = cells[0];
        const size_t middle = partition(&c, order, points, dim);
        if (middle == c.begin || middle == c.end) {
            cells[0].error = 0.0; /* equal up to rounding */
        } else {
            cells[0] = measure(c.begin, middle, order, points, dim);
            cells[n_cells] = measure(middle, c.end, order, points, dim);
        }
        const bool cut = middle != c.begin && middle != c.end;
        sift_down(cells, n_cells, 0);
        if (cut) sift_up(cells, n_cells++);
    }
    return n_cells;
}
