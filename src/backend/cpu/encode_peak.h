/* Codes around 0 in blocks of 32 channels, against the largest magnitude: q8_0, q4_0, iq4_nl. */
#ifndef INGOT_CPU_ENCODE_PEAK_H
#define INGOT_CPU_ENCODE_PEAK_H
#include "../../codec/shape.h"
#include "encode_book.h"
#include "encode_vec.h"

enum { PEAK_BLOCK = 32 };
#define IQ4_ZERO 1e-15f                /* as in src/codec/iq4_nl.c */
#define IQ4_LARGEST (127.f * HALF_MAX)

/* As encode_block in src/codec/q8_0.c. */
VEC_INLINE void encode_q8_0(const encode_rows *r, uint8_t *codes, uint16_t *scales) {
    group_floats high, low, inverse;
    find_ranges(r, &high, &low);
    for (int i = 0; i < r->all; i += VW) {
        const vf top = vf_max(vf_load(high.x + i), vf_load(low.x + i)), d = vf_min(vf_div(top, vf_set(127.f)), vf_set(HALF_MAX));
        store_halves(scales + i, magnitude(d));
        vf_store(inverse.x + i, where_positive(d, vf_div(vf_set(1.f), d)));
    }
    for (int token = 0, i = 0; token < r->n; token++)
        for (int g = 0; g < r->n_groups; g++, i++) {
            const group_at a = group_of(r, token, g);
            const vf inv = vf_set(inverse.x[i]);
            for (int k = 0; k < a.n; k += VW) store_codes(codes + a.at + k, vi_away(clamp(vf_mul(vf_load(a.x + k), inv), -127.f, 127.f)));
        }
}

/* The first element of the largest magnitude, with its sign; 0 among zeros. */
static inline float first_peak(group_at a, float top, float limit) {
    for (int k = 0; top > 0.f && k < a.n; k++) {
        const float x = a.x[k] > limit ? limit : a.x[k] < -limit ? -limit : a.x[k];
        if (x == top || x == -top) return x;
    }
    return 0.f;
}

/* Each group's element of the largest magnitude (up to `limit`), in `high`. */
VEC_INLINE void find_peaks(const encode_rows *r, float limit, group_floats *high) {
    group_floats low;
    bool equal = false;
    find_ranges(r, high, &low);
    for (int i = 0; i < r->all; i += VW) {
        const vf h = vf_min(vf_load(high->x + i), vf_set(limit)), l = vf_min(vf_load(low.x + i), vf_set(limit));
        equal |= any_equal(h, l);
        vf_store(high->x + i, where_greater(l, h, negative(l), h));
        vf_store(low.x + i, l);
    }
    for (int i = 0; equal && i < r->all; i++)
        if (high->x[i] == low.x[i]) high->x[i] = first_peak(group_of(r, i / r->n_groups, i % r->n_groups), low.x[i], limit);
}

/* As quantise_symmetric in src/codec/ggml.c. */
VEC_INLINE void encode_ggml_symmetric(const encode_rows *r, int bits, uint8_t *codes, uint16_t *scales) {
    const float half = (float)(1 << (bits - 1));
    group_floats peak, inverse;
    find_peaks(r, 3.4028234e38f, &peak);
    for (int i = 0; i < r->all; i += VW) {
        const vf d = clip(vf_div(vf_load(peak.x + i), vf_set(-half)));
        store_halves(scales + i, d);
        vf_store(inverse.x + i, where_not_zero(d, vf_div(vf_set(1.f), d)));
    }
    for (int token = 0, i = 0; token < r->n; token++)
        for (int g = 0; g < r->n_groups; g++, i++) {
            const group_at a = group_of(r, token, g);
            const vf inv = vf_set(inverse.x[i]);
            for (int k = 0; k < a.n; k += VW) {
                const vf c = vf_add(vf_mul(vf_load(a.x + k), inv), vf_set(half + 0.5f));
                store_codes(codes + a.at + k, vi_truncate(clamp(c, 0.f, 2.f * half - 1.f)));
            }
        }
}

/* Codes of a group, and the products that its step is made of. */
VEC_INLINE void codes_iq4(const book_search *book, group_at a, vf inverse, uint8_t *codes, float *level_x, float *level_2) {
    for (int k = 0; k < a.n; k += VW) {
        const vf x = clamp(vf_load(a.x + k), -IQ4_LARGEST, IQ4_LARGEST);
        const vi code = book_code(book, 4, vf_mul(inverse, x));
        const vf level = book_level(book, 4, code), weighted = vf_mul(vf_mul(x, x), level);
        store_codes(codes + k, code);
        vf_store(level_x + k, vf_mul(weighted, x));
        vf_store(level_2 + k, vf_mul(weighted, level));
    }
}

/* As encode_block in src/codec/iq4_nl.c, whose sums go from the first element to the last. */
VEC_INLINE void encode_iq4_nl(const encode_rows *r, uint8_t *codes, uint16_t *scales) {
    book_search book;
    group_floats peak;
    book_init(&book, 4, ingot_levels_iq4_nl);
    find_peaks(r, IQ4_LARGEST, &peak);
    for (int i = 0; i < r->all; i++) {
        const group_at a = group_of(r, i / r->n_groups, i % r->n_groups);
        const float p = peak.x[i];
        float level_x[PEAK_BLOCK], level_2[PEAK_BLOCK], sum_x = 0.f, sum_2 = 0.f;
        scales[i] = 0;
        if (p < IQ4_ZERO && p > -IQ4_ZERO) {
            memset(codes + a.at, 0, (size_t)a.n);
            continue;
        }
        codes_iq4(&book, a, vf_set(1.f / (p / ingot_levels_iq4_nl[0])), codes + a.at, level_x, level_2);
        for (int k = 0; k < a.n; k++) sum_x += level_x[k], sum_2 += level_2[k];
        const float step = sum_x / sum_2;
        scales[i] = float_to_half(step > HALF_MAX ? HALF_MAX : step < -HALF_MAX ? -HALF_MAX : step);
    }
}
#endif
