#include "kmeans.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "kmeans_split.h"
#include <math.h>
#include <string.h>

enum { MAX_ITERATIONS = 30, MAX_NEAR = 64, MIN_NEAR = 48, LANES = 16 };
static const double MIN_GAIN = 5e-4;

typedef struct work {
    const float *points;
    size_t n;
    int dim, k, n_near; /* n_near: of a list below, at most k */
    float *centroids;   /* [k][dim] */
    float *columns;     /* [dim][k] the same by axis */
    float *half;        /* [k] half the squared norms */
    kmeans_cell *cells; /* [k] */
    uint32_t *order;    /* [n] points, those of one centroid together */
    uint32_t *start;    /* [k + 1] where those of a centroid begin */
    uint16_t *of;       /* [n] centroid of a point */
    uint16_t *near;     /* [k][MAX_NEAR] centroids around one, itself among them */
    uint16_t *near_n;   /* [k] how many */
    double *sum;        /* [k][dim] */
    double squares;     /* sum of |x|^2 over all points */
} work;

/* --- distances --- */

/* Scores of all centroids: half their squared norm less <x, c>, of which twice plus |x|^2 is the squared distance. */
static void score_all(const work *w, const float *x, float *s) {
    memcpy(s, w->half, (size_t)w->k * sizeof *s);
    for (int d = 0; d < w->dim; d++) {
        const float *column = w->columns + (ptrdiff_t)d * w->k;
        for (int i = 0; i < w->k; i++) s[i] -= x[d] * column[i];
    }
}

static int count_below(const float *s, int n, float limit) {
    int count = 0;
    for (int i = 0; i < n; i++) count += s[i] < limit;
    return count;
}

/* --- neighbours --- */

/* A limit below which between MIN_NEAR and MAX_NEAR of s [n] lie, found by halving; too many where equal values allow no other. */
static float limit_of(const float *s, int n) {
    float low = s[0], high = s[0];
    for (int i = 1; i < n; i++) {
        low = s[i] < low ? s[i] : low;
        high = s[i] > high ? s[i] : high;
    }
    for (int step = 0; step < 40; step++) {
        const float middle = low + 0.5f * (high - low);
        const int count = count_below(s, n, middle);
        if (count >= MIN_NEAR && count <= MAX_NEAR) return middle;
        if (count < MIN_NEAR) low = middle;
        else high = middle;
    }
    return high;
}

/* The centroids nearest to each, by rising number. */
static void find_neighbours(work *w, float *s) {
    for (int c = 0; c < w->k; c++) {
        uint16_t *near = w->near + (size_t)c * MAX_NEAR;
        score_all(w, w->centroids + (ptrdiff_t)c * w->dim, s);
        const float limit = w->k > MAX_NEAR ? limit_of(s, w->k) : INFINITY;
        int n = 0;
        near[n++] = (uint16_t)c;
        for (int i = 0; i < w->k && n < MAX_NEAR; i++)
            if (i != c && s[i] < limit) near[n++] = (uint16_t)i;
        w->near_n[c] = (uint16_t)n;
    }
}

/* --- one iteration --- */

static void sort_points(work *w) {
    memset(w->start, 0, ((size_t)w->k + 1) * sizeof *w->start);
    for (size_t i = 0; i < w->n; i++) w->start[w->of[i] + 1]++;
    for (int c = 0; c < w->k; c++) w->start[c + 1] += w->start[c];
    for (size_t i = 0; i < w->n; i++) w->order[w->start[w->of[i]]++] = (uint32_t)i;
    for (int c = w->k; c > 0; c--) w->start[c] = w->start[c - 1];
    w->start[0] = 0;
}

/* Means of the cells; a centroid without points stays. */
static void update(work *w) {
    memset(w->sum, 0, (size_t)w->k * (size_t)w->dim * sizeof *w->sum);
    for (int c = 0; c < w->k; c++) {
        double *sum = w->sum + (ptrdiff_t)c * w->dim;
        const uint32_t n = w->start[c + 1] - w->start[c];
        for (uint32_t i = w->start[c]; i < w->start[c + 1]; i++)
            for (int d = 0; d < w->dim; d++) sum[d] += (double)w->points[(size_t)w->order[i] * (size_t)w->dim + (size_t)d];
        for (int d = 0; n && d < w->dim; d++) w->centroids[c * w->dim + d] = (float)(sum[d] / n);
    }
    for (int c = 0; c < w->k; c++) {
        float norm = 0.0f;
        for (int d = 0; d < w->dim; d++) {
            const float x = w->centroids[c * w->dim + d];
            w->columns[d * w->k + c] = x;
            norm += x * x;
        }
        w->half[c] = 0.5f * norm;
    }
}

/* Four floats or integers of one register: written so because compilers make too little of the search below, which takes most of the time. */
typedef float float4 __attribute__((vector_size(16)));
typedef int32_t int4 __attribute__((vector_size(16)));
enum { VECTORS = LANES / 4 };

/* The candidates of one cell side by side, padded to a multiple of LANES with copies of the first. */
typedef struct candidates {
    int n;
    uint16_t id[MAX_NEAR];
    union { float x[INGOT_KMEANS_MAX_DIM][MAX_NEAR]; float4 v[INGOT_KMEANS_MAX_DIM][MAX_NEAR / 4]; } columns;
    union { float x[MAX_NEAR]; float4 v[MAX_NEAR / 4]; } half;
} candidates;

static void gather(const work *w, int c, candidates *out) {
    const int n = w->near_n[c];
    out->n = (n + LANES - 1) / LANES * LANES;
    for (int i = 0; i < out->n; i++) {
        const int id = w->near[(size_t)c * MAX_NEAR + (size_t)(i < n ? i : 0)];
        out->id[i] = (uint16_t)id;
        out->half.x[i] = w->half[id];
        for (int d = 0; d < w->dim; d++) out->columns.x[d][i] = w->centroids[id * w->dim + d];
    }
}

/* The nearest candidate, the first of equal ones; *score as above. */
static int nearest(const candidates *near, const float *x, int dim, float *score) {
    union { float4 v[VECTORS]; float x[LANES]; } best;
    union { int4 v[VECTORS]; int32_t x[LANES]; } block;
    for (int l = 0; l < VECTORS; l++) best.v[l] = (float4){INFINITY, INFINITY, INFINITY, INFINITY}, block.v[l] = (int4){0};
    for (int at = 0; at < near->n / 4; at += VECTORS) {
        float4 s[VECTORS];
        for (int l = 0; l < VECTORS; l++) s[l] = near->half.v[at + l];
        for (int d = 0; d < dim; d++)
            for (int l = 0; l < VECTORS; l++) s[l] -= x[d] * near->columns.v[d][at + l];
        for (int l = 0; l < VECTORS; l++) {
            const int4 less = s[l] < best.v[l];
            best.v[l] = (float4)((less & (int4)s[l]) | (~less & (int4)best.v[l]));
            block.v[l] = (less & at) | (~less & block.v[l]);
        }
    }
    int found = 0;
    for (int l = 1; l < LANES; l++)
        if (best.x[l] < best.x[found] || (best.x[l] == best.x[found] && block.x[l] < block.x[found])) found = l;
    *score = best.x[found];
    return 4 * block.x[found] + found;
}

/* Gives each point the nearest candidate of its cell; the sum of squared distances. */
static double assign(work *w) {
    double total = w->squares;
    candidates near;
    for (int c = 0; c < w->k; c++) {
        if (w->start[c] == w->start[c + 1]) continue;
        gather(w, c, &near);
        for (uint32_t i = w->start[c]; i < w->start[c + 1]; i++) {
            float score;
            w->of[w->order[i]] = near.id[nearest(&near, w->points + (size_t)w->order[i] * (size_t)w->dim, w->dim, &score)];
            total += 2.0 * (double)score;
        }
    }
    sort_points(w);
    return total;
}

/* --- all of it --- */

/* False when every point has a centroid of its own already. */
static bool start(work *w) {
    for (size_t i = 0; i < w->n; i++) {
        w->order[i] = (uint32_t)i;
        for (int d = 0; d < w->dim; d++) w->squares += (double)w->points[i * (size_t)w->dim + (size_t)d] * (double)w->points[i * (size_t)w->dim + (size_t)d];
    }
    const int n_cells = ingot_kmeans_split(w->cells, w->k, w->order, w->points, w->n, w->dim);
    for (int c = 0; c < n_cells; c++)
        for (size_t i = w->cells[c].begin; i < w->cells[c].end; i++) w->of[w->order[i]] = (uint16_t)c;
    sort_points(w);
    update(w);
    for (int c = n_cells; c < w->k; c++) memcpy(w->centroids + (ptrdiff_t)c * w->dim, w->centroids, (size_t)w->dim * sizeof(float));
    update(w);
    return n_cells == w->k;
}

/* Centroids move less and less. */
static bool neighbours_are_due(int iteration) { return iteration == 0 || iteration == 2 || iteration == 8; }

static double iterate(work *w, float *s) {
    double last = 0.0;
    for (int i = 0; i < MAX_ITERATIONS; i++) {
        if (neighbours_are_due(i)) find_neighbours(w, s);
        const double error = assign(w);
        update(w);
        if (i > 0 && last - error <= MIN_GAIN * last) return error;
        last = error;
    }
    return last;
}

static bool allocate(work *w, float **s) {
    const size_t k = (size_t)w->k, dim = (size_t)w->dim;
    w->columns = ingot_alloc_array(k, dim * sizeof(float), INGOT_MEM_SCRATCH);
    w->half = ingot_alloc_array(k, sizeof *w->half, INGOT_MEM_SCRATCH);
    w->cells = ingot_alloc_array(k, sizeof *w->cells, INGOT_MEM_SCRATCH);
    w->order = ingot_alloc_array(w->n, sizeof *w->order, INGOT_MEM_SCRATCH);
    w->start = ingot_alloc_array(k + 1, sizeof *w->start, INGOT_MEM_SCRATCH);
    w->of = ingot_alloc_array(w->n, sizeof *w->of, INGOT_MEM_SCRATCH);
    w->near = ingot_alloc_array(k, MAX_NEAR * sizeof *w->near, INGOT_MEM_SCRATCH);
    w->near_n = ingot_alloc_array(k, sizeof *w->near_n, INGOT_MEM_SCRATCH);
    w->sum = ingot_alloc_array(k, dim * sizeof *w->sum, INGOT_MEM_SCRATCH);
    *s = ingot_alloc_array(k, sizeof **s, INGOT_MEM_SCRATCH);
    return w->columns && w->half && w->cells && w->order && w->start && w->of && w->near && w->near_n && w->sum && *s;
}

ingot_status ingot_kmeans(float *centroids, double *error, const float *points, size_t n, int dim, int k) {
    if (dim < 1 || dim > INGOT_KMEANS_MAX_DIM || k < LANES || k > INGOT_KMEANS_MAX_K || k % LANES || n < 1 || n > UINT32_MAX)
        return ingot_fail(INGOT_E_INVALID, "k-means of %zu points of %d elements into %d cells", n, dim, k);
    work w = {.points = points, .n = n, .dim = dim, .k = k, .centroids = centroids};
    float *s = NULL;
    const bool ok = allocate(&w, &s);
    if (ok) {
        const double total = start(&w) ? iterate(&w, s) : 0.0;
        if (error) *error = total > 0.0 ? total / (double)n : 0.0;
    }
    void *owned[] = {w.columns, w.half, w.cells, w.order, w.start, w.of, w.near, w.near_n, w.sum, s};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    return ok ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for k-means of %zu points", n);
}
