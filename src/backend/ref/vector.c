/* Vector operations of the reference: sums and functions in double, one rounding at the end. */
#include "ref_weight.h"
#include <math.h>

static void rmsnorm(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride, const float *w, int n, int dim, float eps) {
    for (int t = 0; t < n; t++, x += x_stride, y += y_stride) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)x[i] * (double)x[i];
        const double s = 1.0 / sqrt(sum / dim + (double)eps);
        for (int i = 0; i < dim; i++) y[i] = (float)((double)x[i] * s * (double)w[i]);
    }
}

/* (a, b) of a pair turned by its angle. */
static void rotate(float *a, float *b, float c, float s) {
    const double x = *a, y = *b;
    *a = (float)(x * (double)c - y * (double)s);
    *b = (float)(x * (double)s + y * (double)c);
}

static void rope(const ingot_rope_args *a) {
    const int half = a->n_rot / 2, apart = a->neox ? half : 1, step = a->neox ? 1 : 2;
    for (int t = 0; t < a->n_tokens; t++) {
        const float *c = a->cos + (ptrdiff_t)t * half, *s = a->sin + (ptrdiff_t)t * half;
        for (int h = 0; h < a->n_heads; h++) {
            float *x = a->x + t * a->stride + (ptrdiff_t)h * a->head_dim;
            for (int j = 0; j < half; j++) rotate(x + j * step, x + j * step + apart, c[j], s[j]);
        }
    }
}

/* silu(x) = x sigmoid(x); gelu_tanh(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3). */
static double activate(double x, ingot_act act) {
    if (act == INGOT_ACT_SILU) return x / (1.0 + exp(-x));
    return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static void glu(float *y, const float *gate, const float *up, size_t n, ingot_act act) {
    for (size_t i = 0; i < n; i++) y[i] = (float)(activate((double)gate[i], act) * (double)up[i]);
}

static void add(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

static void scale(float *y, float s, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] *= s;
}

void ingot_ref_vector_init(ingot_backend *b) {
    b->rmsnorm = rmsnorm;
    b->rope = rope;
    b->glu = glu;
    b->add = add;
    b->scale = scale;
}
