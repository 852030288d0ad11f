#include "codebook.h"
#include "codec_util.h"
#include <math.h>
#include <string.h>

enum { LEAF = INGOT_CODEBOOK_LEAF };

/* The functions of the search are compiled for each group: their short loops over channels unroll, those over centroids and leaves fill registers. */
#define SPECIALISED static inline __attribute__((always_inline))

/* The smallest of n = 16 or more numbers, a multiple of 8 (none is a NaN). */
SPECIALISED float least_of(const float *d, int n) {
    float least[8];
    for (int j = 0; j < 8; j++) least[j] = d[j] < d[j + 8] ? d[j] : d[j + 8];
    for (int i = 16; i < n; i += 8)
        for (int j = 0; j < 8; j++) least[j] = least[j] < d[i + j] ? least[j] : d[i + j];
    for (int j = 0; j < 4; j++) least[j] = least[j] < least[j + 4] ? least[j] : least[j + 4];
    for (int j = 1; j < 4; j++) least[0] = least[0] < least[j] ? least[0] : least[j];
    return least[0];
}

static inline int place_of(const float *d, int n, float value) {
    int at = 0;
    while (at < n - 1 && d[at] != value) at++;
    return at;
}

/* |x - c|^2 / 2 - |x|^2 / 2 of the leaf's 16 centroids. */
SPECIALISED void leaf_distances(const ingot_codebook_search *s, int leaf, const float *x, int group, float *restrict d) {
    const float *restrict column = s->columns + (size_t)leaf * (size_t)group * LEAF, *restrict half = s->half_norm + (size_t)leaf * LEAF;
    for (int j = 0; j < LEAF; j++) {
        float v = half[j];
        for (int k = 0; k < group; k++) v -= x[k] * column[k * LEAF + j];
        d[j] = v;
    }
}

/* Squared distance of x from the box of each leaf. */
SPECIALISED void box_distances(const ingot_codebook_search *s, const float *x, int group, float *restrict d) {
    const float *restrict middle = s->middle, *restrict extent = s->extent;
    const int n = s->n_leaves;
    for (int l = 0; l < n; l++) {
        float sum = 0.0f;
        for (int k = 0; k < group; k++) {
            /* out or 0, whichever is larger, without a comparison, of which a compiler would make a branch */
            const float out = fabsf(x[k] - middle[k * n + l]) - extent[k * n + l], positive = 0.5f * (out + fabsf(out));
            sum += positive * positive;
        }
        d[l] = sum;
    }
}

typedef struct nearest {
    float distance;
    int index;
} nearest;

SPECIALISED void visit(const ingot_codebook_search *s, int leaf, const float *x, int group, nearest *best) {
    float d[LEAF];
    leaf_distances(s, leaf, x, group, d);
    const float least = least_of(d, LEAF);
    if (least > best->distance) return;
    const int index = s->index[leaf * LEAF + place_of(d, LEAF, least)]; /* the lowest of equal ones: rows ascend in a leaf */
    if (least < best->distance || index < best->index) *best = (nearest){least, index};
}

/* Boxes farther away than the best centroid cannot hold a nearer one, nor one as near; the margin covers the rounding errors of all distances
 * (at most 60 operations of 2^-24 each, with results no larger than (reach + |x|)^2). */
SPECIALISED int search(const ingot_codebook_search *s, const float *x, int group) {
    float box[INGOT_CODEBOOK_MAX / LEAF], norm = 0.0f;
    nearest best = {INFINITY, 0};
    box_distances(s, x, group, box);
    const int first = place_of(box, s->n_leaves, least_of(box, s->n_leaves));
    for (int k = 0; k < group; k++) norm += x[k] * x[k];
    const float size = s->reach + sqrtf(norm), margin = norm + 1e-5f * size * size;
    visit(s, first, x, group, &best);
    for (int l = 0; l < s->n_leaves; l++)
        if (box[l] <= 2.0f * best.distance + margin && l != first) visit(s, l, x, group, &best);
    return best.index;
}

int ingot_codebook_nearest(const ingot_codebook_search *s, const float *x) { return s->group == 4 ? search(s, x, 4) : search(s, x, 8); }

/* Puts the rows of index [n] that come first in column k, equal ones by row, into the first `want` places. */
static void select_rows(const float *codebook, int group, int k, uint16_t *index, int n, int want) {
#define BEFORE(a, b) (codebook[(a) * group + k] < codebook[(b) * group + k] || (codebook[(a) * group + k] == codebook[(b) * group + k] && (a) < (b)))
    for (int lo = 0, hi = n - 1; lo < hi;) {
        const uint16_t pivot = index[lo + (hi - lo) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (BEFORE(index[i], pivot)) i++;
            while (BEFORE(pivot, index[j])) j--;
            if (i <= j) {
                const uint16_t swap = index[i];
                index[i++] = index[j], index[j--] = swap;
            }
        }
        if (want <= j) hi = j;
        else if (want >= i) lo = i;
        else return;
    }
#undef BEFORE
}

/* Halves index [n] along the widest column until leaves are left. n = 16 * 2^k; the recursion is 8 deep at most. */
static void split_rows(const float *codebook, int group, uint16_t *index, int n) {
    int widest = 0;
    float width = -1.0f;
    if (n <= LEAF) return;
    for (int k = 0; k < group; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; i++) {
            const float c = codebook[index[i] * group + k];
            low = c < low ? c : low, high = c > high ? c : high; /* gcc 12 for Arm fails on fminf here */
        }
        if (high - low > width) width = high - low, widest = k;
    }
    select_rows(codebook, group, widest, index, n, n / 2);
    split_rows(codebook, group, index, n / 2);
    split_rows(codebook, group, index + n / 2, n - n / 2);
}

static void sort_leaf(uint16_t *index) {
    for (int i = 1; i < LEAF; i++)
        for (int j = i; j > 0 && index[j - 1] > index[j]; j--) {
            const uint16_t swap = index[j];
            index[j] = index[j - 1], index[j - 1] = swap;
        }
}

/* Memory: the search's head, then its arrays of floats, then the index. */
static size_t head_bytes(void) { return (sizeof(ingot_codebook_search) + 63) / 64 * 64; }

size_t ingot_codec_params_bytes(const ingot_kv_fmt *f) {
    const ingot_codec *c = ingot_codec_get(f->codec);
    if (!c || !c->code_bits) return 0;
    const size_t rows = (size_t)1 << c->code_bits, group = (size_t)f->group, leaves = rows / LEAF;
    return head_bytes() + sizeof(float) * (rows * group + 2 * rows + 2 * leaves * group) + sizeof(uint16_t) * rows;
}

static void fill_leaf(const ingot_codebook_search *s, const float *codebook, const float *row_half_norm, int leaf, uint16_t *index, float *middle, float *extent,
                      float *columns, float *half_norm) {
    sort_leaf(index);
    for (int k = 0; k < s->group; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int j = 0; j < LEAF; j++) {
            const float c = codebook[index[j] * s->group + k];
            columns[k * LEAF + j] = c;
            low = fminf(low, c), high = fmaxf(high, c);
        }
        middle[k * s->n_leaves + leaf] = (low + high) / 2, extent[k * s->n_leaves + leaf] = (high - low) / 2;
    }
    for (int j = 0; j < LEAF; j++) half_norm[j] = row_half_norm[index[j]];
}

const char *ingot_codec_params_fill(const ingot_kv_fmt *f, const float *codebook, void *memory, ingot_codec_params *out) {
    const int rows = 1 << ingot_codec_get(f->codec)->code_bits, group = f->group, leaves = rows / LEAF;
    ingot_codebook_search *s = memory;
    float *row_half_norm = (float *)((char *)memory + head_bytes()), *half_norm = row_half_norm + rows, *columns = half_norm + rows;
    float *middle = columns + rows * group, *extent = middle + leaves * group;
    uint16_t *index = (uint16_t *)(extent + leaves * group);
    double reach = 0.0;
    for (int i = 0; i < rows; i++) {
        double square = 0.0;
        for (int k = 0; k < group; k++) {
            const double c = (double)codebook[i * group + k];
            if (!(fabs(c) <= (double)INGOT_F16_MAX)) return "a codebook holds a number beyond 65504";
            square += c * c;
        }
        row_half_norm[i] = (float)(square / 2), index[i] = (uint16_t)i;
        reach = fmax(reach, sqrt(square));
    }
    *s = (ingot_codebook_search){leaves, group, (float)reach, middle, extent, columns, half_norm, index};
    split_rows(codebook, group, index, rows);
    for (int l = 0; l < leaves; l++)
        fill_leaf(s, codebook, row_half_norm, l, index + l * LEAF, middle, extent, columns + (size_t)l * (size_t)group * LEAF, half_norm + l * LEAF);
    *out = (ingot_codec_params){.codebook = codebook, .half_norm = row_half_norm, .search = s};
    return NULL;
}
