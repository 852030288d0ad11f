/* Codecs that are neither of one scale and a code an element nor worth a decode row by row have loops of their own, on canonical blocks: product
 * quantisation (a centroid a code), recursive polar coordinates, and those of RoPE pairs. Chunks, windows and results as in code_unpack.h. */
#ifndef INGOT_CPU_OWN_UNPACK_H
#define INGOT_CPU_OWN_UNPACK_H
#include "../../codec/codebook.h"
#include "../../codec/polar.h"
#include "../../codec/polarpair.h"
#include "code_unpack.h"
#include "unpack.h"

/* --- product quantisation --- */

VEC_INLINE void k_pq(const int bits, const int group, const float *book, const uint8_t *tile, size_t bytes, cpu_window w, int c0, int channels, float *out) {
    for (int t = w.lo / 4 * 4; t < w.hi; t += 4) {
        const uint8_t *row = tile + (size_t)t * bytes;
        for (int i = c0 / group; i < (c0 + channels) / group; i++) {
            float *o = out + (i * group - c0) * 64 + t;
            const float *centroid[4];
            VEC_UNROLL(4) for (int k = 0; k < 4; k++) centroid[k] = book + ingot_codebook_code(row + (size_t)k * bytes, i, bits) * group;
            VEC_UNROLL(2) for (int c = 0; c < group; c += 4) {
                transpose_4((const float *const[4]){centroid[0] + c, centroid[1] + c, centroid[2] + c, centroid[3] + c}, o + c * 64, 64);
            }
        }
    }
}

VEC_INLINE void v_pq(const int bits, const int group, const float *book, const uint8_t *tile, size_t bytes, cpu_window w, int c0, int channels, float *out) {
    for (int t = w.lo; t < w.hi; t++) {
        const uint8_t *row = tile + (size_t)t * bytes;
        for (int i = c0 / group; i < (c0 + channels) / group; i++) {
            const float *centroid = book + ingot_codebook_code(row, i, bits) * group;
            VEC_UNROLL(2) for (int c = 0; c < group; c += 4) memcpy(out + t * 64 + i * group - c0 + c, centroid + c, 16);
        }
    }
}

#define OWN_PQ(side, bits)                                                                                                                       \
    static void own_##side##_pq##bits(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {               \
        const size_t bytes = ingot_codec_get(f->codec)->block_bytes(f);                                                                          \
        if (f->group == 4) side##_pq(bits, 4, f->params->codebook, tile, bytes, w, c0, channels, out);                                           \
        else side##_pq(bits, 8, f->params->codebook, tile, bytes, w, c0, channels, out);                                                         \
    }
OWN_PQ(k, 8)
OWN_PQ(k, 10)
OWN_PQ(k, 12)
OWN_PQ(v, 8)
OWN_PQ(v, 10)
OWN_PQ(v, 12)

/* --- polar --- */

/* Tables of the levels' cosines and sines, repeated over the lanes: a code's upper neighbours do not matter. */
typedef struct polar_tables { vf cosine[3], sine[3], cosine_1[16 / VW], sine_1[16 / VW]; } polar_tables;

VEC_INLINE polar_tables polar_tables_of(void) {
    polar_tables p;
    float c[VW], s[VW];
    VEC_UNROLL(3) for (int level = 0; level < 3; level++) {
        for (int i = 0; i < VW; i++) c[i] = ingot_polar_cosine[level][i % 4], s[i] = ingot_polar_cosine[level][3 - i % 4];
        p.cosine[level] = vf_load(c), p.sine[level] = vf_load(s);
    }
    VEC_UNROLL(2) for (int i = 0; i < 16 / VW; i++) {
        p.cosine_1[i] = vf_load(ingot_polar_wave + 4 + i * VW), p.sine_1[i] = vf_load(ingot_polar_wave + i * VW);
    }
    return p;
}

VEC_INLINE vf pick_of_16(vi code, const vf *table) {
#if defined(__aarch64__)
    return vf_pick_16(code, table);
#elif defined(__AVX512F__)
    return vf_pick(code, table[0]);
#else
    return _mm256_blendv_ps(vf_pick(code, table[0]), vf_pick(code, table[1]), vi_as_float(vi_left(code, 28)));
#endif
}

/* Block b of n blocks of 16 channels, for VW tokens: the radius splits into two along each angle, level by level (src/codec/polar.c). */
VEC_INLINE void polar_block(const polar_tables *p, const code_lanes *l, int n, int b, vf *y) {
    const vi first = code_words(l, 2 * n + 4 * b);
    const vi codes[3] = {code_words(l, 6 * n + b), vi_right(code_words(l, 7 * n + b / 2), vi_set((uint32_t)b % 2 * 4)),
                         vi_right(code_words(l, (30 * n + b) / 4), vi_set((uint32_t)(30 * n + b) % 4 * 2))};
    y[0] = vi_halves(code_words(l, 2 * b));
    VEC_UNROLL(3) for (int level = 2; level >= 0; level--) {
        VEC_UNROLL(4) for (int j = (4 >> level) - 1; j >= 0; j--) {
            const vi code = vi_right(codes[level], vi_set((uint32_t)j * 2));
            const vf r = y[j];
            y[2 * j] = vf_mul(r, vf_pick(code, p->cosine[level]));
            y[2 * j + 1] = vf_mul(r, vf_pick(code, p->sine[level]));
        }
    }
    VEC_UNROLL(8) for (int j = 7; j >= 0; j--) {
        const vi code = vi_right(first, vi_set((uint32_t)j * 4));
        const vf r = y[j];
        y[2 * j] = vf_mul(r, pick_of_16(code, p->cosine_1));
        y[2 * j + 1] = vf_mul(r, pick_of_16(code, p->sine_1));
    }
}

static void own_k_polar(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const polar_tables p = polar_tables_of();
    const int bytes = (int)ingot_codec_get(f->codec)->block_bytes(f), n = f->dim / 16;
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_of_rows(tile, bytes, t);
        for (int c = 0; c < channels; c += 16) {
            vf y[16];
            polar_block(&p, &l, n, (c0 + c) / 16, y);
            VEC_UNROLL(16) for (int i = 0; i < 16; i++) vf_store(out + (c + i) * 64 + t, y[i]);
        }
    }
}

static void own_v_polar(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    const polar_tables p = polar_tables_of();
    const int bytes = (int)ingot_codec_get(f->codec)->block_bytes(f), n = f->dim / 16;
    for (int t = w.lo / VW * VW; t < w.hi; t += VW) {
        const code_lanes l = code_lanes_of_rows(tile, bytes, t);
        for (int c = 0; c < channels; c += 16) {
            float y[16][VW];
            vf v[16];
            polar_block(&p, &l, n, (c0 + c) / 16, v);
            VEC_UNROLL(16) for (int i = 0; i < 16; i++) vf_store(y[i], v[i]);
            for (int i = 0; i < VW; i += 4) {
                for (int k = 0; k < 16; k += 4) transpose_4((const float *const[4]){y[k] + i, y[k + 1] + i, y[k + 2] + i, y[k + 3] + i}, out + (t + i) * 64 + c + k, 64);
            }
        }
    }
}

/* --- polar pairs --- */

/* The angles of one pair, code after code. */
typedef struct pair_tables { float cosine[16], sine[16]; } pair_tables;

static void pair_tables_of(const ingot_polarpair_tables *p, pair_tables *out) {
    float turned[2][8][16];
    for (int k = 0; k < 16; k += 4) {
        for (int i = 0; i < 8; i += 4) {
            transpose_4((const float *const[4]){p->cosine[k] + i, p->cosine[k + 1] + i, p->cosine[k + 2] + i, p->cosine[k + 3] + i}, &turned[0][i][k], 16);
            transpose_4((const float *const[4]){p->sine[k] + i, p->sine[k + 1] + i, p->sine[k + 2] + i, p->sine[k + 3] + i}, &turned[1][i][k], 16);
        }
    }
    for (int i = 0; i < 8; i++) {
        memcpy(out[i].cosine, turned[0][i], sizeof out[i].cosine);
        memcpy(out[i].sine, turned[1][i], sizeof out[i].sine);
    }
}

/* Eight pairs for VW tokens: radii times the cosines into `low`, the sines into `high`; pairs are `step` channels apart. */
VEC_INLINE void eight_pairs(const code_lanes *l, int j, const ingot_polarpair_tables *p, const pair_tables *tables, ptrdiff_t step, float *low, float *high) {
    vi word = vi_set(0);
    for (int i = 0; i < 8; i++) {
        if (i % 4 == 0) word = code_words(l, j + i);
        const vf r = vf_add(vf_mul(vi_float(vi_and(vi_right(word, vi_set(4)), vi_set(15))), vf_set(p->step[i])), vf_set(p->first[i]));
        vf c[16 / VW], s[16 / VW];
        VEC_UNROLL(2) for (int k = 0; k < 16 / VW; k++) c[k] = vf_load(tables[i].cosine + k * VW), s[k] = vf_load(tables[i].sine + k * VW);
        vf_store(low + i * step * 64, vf_mul(r, pick_of_16(word, c)));
        vf_store(high + i * step * 64, vf_mul(r, pick_of_16(word, s)));
        word = vi_right(word, vi_set(8));
    }
}

/* All channels of the window's tokens: out [dim][64]. */
static void page_k_polarpair(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, float *out) {
    const int pairs = f->dim / 2, tokens = ingot_codec_tokens(f), step = f->adjacent_pairs ? 2 : 1;
    const size_t bytes = ingot_codec_get(f->codec)->block_bytes(f);
    for (int t0 = w.lo / tokens * tokens; t0 < w.hi; t0 += tokens) {
        const uint8_t *block = tile + (size_t)(t0 / tokens) * bytes, *codes = block + INGOT_POLARPAIR_META * pairs;
        for (int j = 0; j < pairs; j += 8) {
            float *low = out + j * step * 64 + t0, *high = low + (f->adjacent_pairs ? 1 : pairs) * 64;
            ingot_polarpair_tables p;
            pair_tables tables[8];
            ingot_polarpair_open(block + INGOT_POLARPAIR_META * j, &p);
            pair_tables_of(&p, tables);
            for (int t = 0; t < tokens; t += VW) {
                const code_lanes l = code_lanes_of_rows(codes, pairs, t);
                eight_pairs(&l, j, &p, tables, step, low + t, high + t);
            }
        }
    }
}

#define UNPACK_TABLE                                                                                                                                      \
    {                                                                                                                                                    \
        .codes = {unpack_k_codes, unpack_v_codes},                                                                                                       \
        .page = {[INGOT_CODEC_POLARPAIR] = page_k_polarpair, [INGOT_CODEC_QJL] = page_k_qjl},                                                            \
        .own = {[INGOT_SIDE_K] = {[INGOT_CODEC_POLAR] = own_k_polar, [INGOT_CODEC_PQ8] = own_k_pq8,                                                      \
                                  [INGOT_CODEC_PQ10] = own_k_pq10, [INGOT_CODEC_PQ12] = own_k_pq12},                                                     \
                [INGOT_SIDE_V] = {[INGOT_CODEC_POLAR] = own_v_polar, [INGOT_CODEC_PQ8] = own_v_pq8, [INGOT_CODEC_PQ10] = own_v_pq10,                      \
                                  [INGOT_CODEC_PQ12] = own_v_pq12}},                                                                                     \
    }
#endif
