/* Vector operations of one instruction set, included by the file compiled for it. Tails are done one element at a time with
 * the same operations, so that a value does not depend on its place. */
#ifndef INGOT_CPU_VECTOR_ISA_H
#define INGOT_CPU_VECTOR_ISA_H
#include "vec.h"
#include "vector.h"
#include <math.h>

#if defined(__aarch64__)
VEC_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
VEC_INLINE vf vf_minus_abs(vf a) { return vnegq_f32(vabsq_f32(a)); }
VEC_INLINE vf vf_by_sign(vf x, vf if_plus, vf if_minus) { return vbslq_f32(vcltzq_s32(vreinterpretq_s32_f32(x)), if_minus, if_plus); }
#elif defined(__AVX512F__)
VEC_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
VEC_INLINE vf vf_minus_abs(vf a) { return _mm512_or_ps(a, _mm512_set1_ps(-0.f)); }
/* if_minus where the sign bit of x is set, else if_plus. */
VEC_INLINE vf vf_by_sign(vf x, vf if_plus, vf if_minus) { return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), if_plus, if_minus); }
#else
VEC_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
VEC_INLINE vf vf_minus_abs(vf a) { return _mm256_or_ps(a, _mm256_set1_ps(-0.f)); }
VEC_INLINE vf vf_by_sign(vf x, vf if_plus, vf if_minus) { return _mm256_blendv_ps(if_plus, if_minus, x); }
#endif

/* Sums in float, one for each lane of four vectors: rows have a few thousand elements at most. */
static float sum_of_squares(const float *x, int n) {
    vf s[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    int i = 0;
    for (; i + 4 * VW <= n; i += 4 * VW) {
        VEC_UNROLL(4) for (int v = 0; v < 4; v++) {
            const vf a = vf_load(x + i + v * VW);
            s[v] = vf_fma(a, a, s[v]);
        }
    }
    float sum = vf_sum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3])));
    for (; i < n; i++) sum += x[i] * x[i];
    return sum;
}

static void rmsnorm(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride, const float *w, int n, int dim, float eps) {
    for (int t = 0; t < n; t++, x += x_stride, y += y_stride) {
        const float s = 1.f / sqrtf(sum_of_squares(x, dim) / (float)dim + eps);
        int i = 0;
        for (; i + VW <= dim; i += VW) vf_store(y + i, vf_mul(vf_mul(vf_load(x + i), vf_set(s)), vf_load(w + i)));
        for (; i < dim; i++) y[i] = x[i] * s * w[i];
    }
}

/* Pairs (a[j], b[j]) turned by angle j. */
static void rope_apart(float *a, float *b, const float *c, const float *s, int n) {
    int j = 0;
    for (; j + VW <= n; j += VW) {
        const vf x = vf_load(a + j), y = vf_load(b + j), cj = vf_load(c + j), sj = vf_load(s + j);
        vf_store(a + j, vf_sub(vf_mul(x, cj), vf_mul(y, sj)));
        vf_store(b + j, vf_fma(x, sj, vf_mul(y, cj)));
    }
    for (; j < n; j++) {
        const float x = a[j], y = b[j];
        a[j] = x * c[j] - y * s[j];
        b[j] = x * s[j] + y * c[j];
    }
}

static void rope_beside(float *x, const float *c, const float *s, int n) {
    for (int j = 0; j < n; j++) {
        const float a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * c[j] - b * s[j];
        x[2 * j + 1] = a * s[j] + b * c[j];
    }
}

static void rope(const ingot_rope_args *a) {
    const int half = a->n_rot / 2;
    for (int t = 0; t < a->n_tokens; t++) {
        const float *c = a->cos + (ptrdiff_t)t * half, *s = a->sin + (ptrdiff_t)t * half;
        for (int h = 0; h < a->n_heads; h++) {
            float *x = a->x + t * a->stride + (ptrdiff_t)h * a->head_dim;
            if (a->neox) rope_apart(x, x + half, c, s, half);
            else rope_beside(x, c, s, half);
        }
    }
}

/* x / (1 + exp(-z)), through exp(-|z|) so that nothing overflows. */
VEC_INLINE vf times_sigmoid(vf x, vf z) {
    const vf one = vf_set(1.f), e = vf_exp2(vf_mul(vf_minus_abs(z), vf_set(VEC_LOG2E)));
    return vf_mul(x, vf_div(vf_by_sign(z, one, e), vf_add(one, e)));
}

/* gelu_tanh(x) = x/2 (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3). */
VEC_INLINE vf activate(vf x, ingot_act act) {
    if (act == INGOT_ACT_SILU) return times_sigmoid(x, x);
    const vf x2 = vf_mul(x, x);
    return times_sigmoid(x, vf_mul(x, vf_fma(x2, vf_set(2.f * 0.7978845608f * 0.044715f), vf_set(2.f * 0.7978845608f))));
}

static void glu(float *y, const float *gate, const float *up, size_t n, ingot_act act) {
    size_t i = 0;
    if (act == INGOT_ACT_SILU) {
        for (; i + VW <= n; i += VW) vf_store(y + i, vf_mul(activate(vf_load(gate + i), INGOT_ACT_SILU), vf_load(up + i)));
    } else {
        for (; i + VW <= n; i += VW) vf_store(y + i, vf_mul(activate(vf_load(gate + i), INGOT_ACT_GELU_TANH), vf_load(up + i)));
    }
    for (; i < n; i++) {
        float r[VW];
        vf_store(r, vf_mul(activate(vf_set(gate[i]), act), vf_set(up[i])));
        y[i] = r[0];
    }
}

static void add(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VW <= n; i += VW) vf_store(y + i, vf_add(vf_load(y + i), vf_load(x + i)));
    for (; i < n; i++) y[i] += x[i];
}

static void scale(float *y, float s, size_t n) {
    size_t i = 0;
    for (; i + VW <= n; i += VW) vf_store(y + i, vf_mul(vf_load(y + i), vf_set(s)));
    for (; i < n; i++) y[i] *= s;
}

static void fill(ingot_backend *b) {
    b->rmsnorm = rmsnorm;
    b->rope = rope;
    b->glu = glu;
    b->add = add;
    b->scale = scale;
}
#endif
