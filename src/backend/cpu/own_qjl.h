/* Keys of QJL (src/codec/qjl.c) with VW tokens side by side, so that the sketch's Hadamard matrices need no shuffles. Operation for operation what the
 * codec's decode does. Head sizes that are powers of two, 32 and up. For files compiled for one instruction set. */
#ifndef INGOT_CPU_OWN_QJL_H
#define INGOT_CPU_OWN_QJL_H
#include "../../base/rng.h"
#include "../../codec/qjl.h"
#include "code_unpack.h"
#include <math.h>

/* Blocks of a sketch: at most 4 (sketch=4). The channels' signs before the first and the second matrix, 1 = minus. */
enum { QJL_BLOCKS = 4, QJL_WORDS = INGOT_MAX_HEAD_DIM / 64 };
typedef struct qjl_signs { uint64_t minus[QJL_BLOCKS][2][QJL_WORDS]; } qjl_signs;

static void qjl_find_signs(const ingot_sketch *s, qjl_signs *out) {
    for (int i = 0; i < 2 * (s->rows / s->dim); i++) {
        ingot_rng r = {s->seed + (uint64_t)i};
        for (int w = 0; w < (s->dim + 63) / 64; w++) out->minus[i / 2][i % 2][w] = ingot_rng_next(&r);
    }
}

/* Unnormalised Walsh-Hadamard matrix on x [n][VW], two steps at once. */
static void hadamard_lanes(float *x, int n) {
    int h = 1;
    for (; 4 * h <= n; h *= 4) {
        for (int i = 0; i < n; i += 4 * h) {
            for (int j = i; j < i + h; j++) {
                float *at = x + j * VW;
                const vf a = vf_load(at), b = vf_load(at + h * VW), c = vf_load(at + 2 * h * VW), d = vf_load(at + 3 * h * VW);
                const vf ab = vf_add(a, b), a_b = vf_sub(a, b), cd = vf_add(c, d), c_d = vf_sub(c, d);
                vf_store(at, vf_add(ab, cd));
                vf_store(at + h * VW, vf_add(a_b, c_d));
                vf_store(at + 2 * h * VW, vf_sub(ab, cd));
                vf_store(at + 3 * h * VW, vf_sub(a_b, c_d));
            }
        }
    }
    for (int j = 0; h < n && j < h; j++) {
        const vf a = vf_load(x + j * VW), b = vf_load(x + (j + h) * VW);
        vf_store(x + j * VW, vf_add(a, b));
        vf_store(x + (j + h) * VW, vf_sub(a, b));
    }
}

VEC_INLINE float signed_norm(const uint64_t *minus, int c, float norm) { return minus[c / 64] >> (c % 64) & 1 ? -norm : norm; }

/* sum [dim][VW] = S^T z over `blocks` blocks of the sketch; y [dim][VW] is used up. */
static void sketch_back_lanes(const qjl_signs *signs, int dim, int blocks, const code_lanes *bits, float *y, float *sum) {
    const float norm = 1.0f / sqrtf((float)dim);
    const vi length = vi_set(ingot_f32_bits(sqrtf((float)dim))), top = vi_set(0x80000000u), step = vi_set(1);
    for (int b = 0; b < blocks; b++) {
        for (int c = 0; c < dim; c += 32) {
            vi w = code_words(bits, (b * dim + c) / 8);
            for (int i = 0; i < 32; i++, w = vi_right(w, step)) vf_store(y + (c + i) * VW, vi_as_float(vi_xor(vi_xor(vi_left(w, 31), top), length)));
        }
        hadamard_lanes(y, dim);
        for (int c = 0; c < dim; c++) vf_store(y + c * VW, vf_mul(vf_load(y + c * VW), vf_set(signed_norm(signs->minus[b][1], c, norm))));
        hadamard_lanes(y, dim);
        for (int c = 0; c < dim; c++) {
            const vf x = vf_mul(vf_load(y + c * VW), vf_set(signed_norm(signs->minus[b][0], c, norm)));
            vf_store(sum + c * VW, b ? vf_add(vf_load(sum + c * VW), x) : x);
        }
    }
}

/* All channels of the window's tokens: out [dim][64]. */
static void page_k_qjl(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, float *out) {
    const ingot_qjl_layout l = ingot_qjl_layout_of(f);
    qjl_signs signs;
    float y[INGOT_MAX_HEAD_DIM * VW], sum[INGOT_MAX_HEAD_DIM * VW];
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const uint8_t *block = tile + (size_t)(t / INGOT_QJL_TOKENS) * l.bytes;
        const ingot_qjl q = ingot_qjl_open(f, &l, block);
        const int i = t % INGOT_QJL_TOKENS, in = q.rows_in / 8, outlier = q.rows_out / 8;
        const code_lanes of_in = {block + l.bits_in + i * in, vi_lanes(in), in - 4}, of_out = {block + l.bits_out + i * outlier, vi_lanes(outlier), outlier - 4};
        const uint16_t *norms = (const uint16_t *)(const void *)(block + l.norms) + i;
        const vf scale_in = vf_mul(vf_set(INGOT_SQRT_HALF_PI / (float)q.rows_in), vf_halves(norms));
        const vf scale_out = vf_mul(vf_set(INGOT_SQRT_HALF_PI / (float)q.rows_out), vf_halves(norms + INGOT_QJL_TOKENS));
        if (t == w.lo / VW * VW) qjl_find_signs(&q.s, &signs);
        sketch_back_lanes(&signs, f->dim, q.rows_in / f->dim, &of_in, y, sum);
        for (int c = 0; c < f->dim; c++) vf_store(out + c * 64 + t, vf_mul(vf_load(sum + c * VW), scale_in));
        sketch_back_lanes(&signs, f->dim, q.rows_out / f->dim, &of_out, y, sum);
        for (int k = 0; k < q.n_outliers; k++) vf_store(out + q.outlier[k] * 64 + t, vf_mul(scale_out, vf_load(sum + q.outlier[k] * VW)));
    }
}
#endif
