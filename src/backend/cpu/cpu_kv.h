/* What the attention files of the CPU back end share. */
#ifndef INGOT_CPU_KV_H
#define INGOT_CPU_KV_H
#include "../backend.h"
#include "tile16.h"

/* The tokens of a page that at least one row sees: slots [lo, hi); empty when lo >= hi. */
typedef struct cpu_window { int lo, hi; } cpu_window;

static inline cpu_window cpu_window_of_token(const ingot_attend_args *a, int page, int t) {
    const int64_t first = (int64_t)page * TILE_TOKENS, lo = a->lo[t] - first, hi = a->hi[t] - first;
    return (cpu_window){lo > 0 ? (lo < TILE_TOKENS ? (int)lo : TILE_TOKENS) : 0, hi > 0 ? (hi < TILE_TOKENS ? (int)hi : TILE_TOKENS) : 0};
}

static inline cpu_window cpu_window_of_tokens(const ingot_attend_args *a, int page, int t0, int n) {
    cpu_window w = {TILE_TOKENS, 0};
    for (int t = t0; t < t0 + n; t++) {
        const cpu_window x = cpu_window_of_token(a, page, t);
        if (x.lo >= x.hi) continue;
        if (x.lo < w.lo) w.lo = x.lo;
        if (x.hi > w.hi) w.hi = x.hi;
    }
    return w;
}

/* The union for rows [r0, r0 + n), and each row's own in lo, hi. */
static inline cpu_window cpu_window_of_rows(const ingot_attend_args *a, int page, int r0, int n, int *lo, int *hi) {
    const int t0 = r0 / a->n_group, t1 = (r0 + n - 1) / a->n_group;
    for (int r = 0; r < n; r++) {
        const cpu_window x = cpu_window_of_token(a, page, (r0 + r) / a->n_group);
        lo[r] = x.lo;
        hi[r] = x.hi;
    }
    return cpu_window_of_tokens(a, page, t0, t1 - t0 + 1);
}

/* Rows that the many-rows path takes over a page at once, at most; more rows make more passes. */
enum { CPU_PASS_ROWS = 192 };

/* One row of the float path: its query and output (in the frames of the tiles), what it sees of the page, and the factor for what it summed before. */
typedef struct cpu_row {
    const float *q;
    float *o;
    cpu_window sees;
    int token;
    float corr;
    float kept; /* wide values: the product of all corr, for what `o` of the call held before */
} cpu_row;

static inline const float *cpu_query_row(const ingot_attend_args *a, int r) {
    return a->q + (r / a->n_group) * a->q_token_stride + (ptrdiff_t)(r % a->n_group) * a->k.dim;
}

static inline void *cpu_scratch_align(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

void ingot_cpu_kv_init(ingot_backend *b);
void ingot_cpu_attend_avx2(const ingot_attend_args *a);
void ingot_cpu_attend_avxvnni(const ingot_attend_args *a);
void ingot_cpu_attend_avx512(const ingot_attend_args *a);
void ingot_cpu_attend_neon(const ingot_attend_args *a);
void ingot_cpu_attend_neon_dotprod(const ingot_attend_args *a);
void ingot_cpu_attend_neon_i8mm(const ingot_attend_args *a);
void ingot_cpu_merge_avx2(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim);
void ingot_cpu_merge_avx512(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim);
void ingot_cpu_merge_neon(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim);
void ingot_cpu_normalize_avx2(const float *o, float l, float *out, int dim);
void ingot_cpu_normalize_avx512(const float *o, float l, float *out, int dim);
void ingot_cpu_normalize_neon(const float *o, float l, float *out, int dim);
#endif
