/* Second phase of the packed attention: online softmax of a block of rows over 64 scores, and for integer V the weights
 * as digits. */
#include "attend_dot_avx512.h"

/* Largest weight of a page as an integer of two digits, and its log2. */
#define WEIGHT_MAX 65535.f
#define WEIGHT_MAX_LOG2 15.9999780f

/* 2^t, relative error 3e-6: enough for weights that are rounded to 16 bits. */
VEC_INLINE __m512 weight_exp2(__m512 t) {
    const __m512 magic = _mm512_set1_ps(12582912.f);
    const __m512 n = _mm512_sub_ps(_mm512_add_ps(t, magic), magic), f = _mm512_sub_ps(t, n);
    __m512 p = _mm512_set1_ps(0.0095701022f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.055917863f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.24024744f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.69312179f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.99999928f));
    return _mm512_scalef_ps(p, n);
}

/* Per row the 64 scores, and vectors over rows: the page's maximum and the new running one. */
typedef struct p_rows {
    __m512 x[BLOCK_ROWS][4];
    __m512 top, running;
} p_rows;

/* Maxima of n rows over their 16 lanes, as a vector over rows: a transposition that shrinks as it goes. */
VEC_INLINE __m512 row_tops(const int n, const __m512 *m) {
    __m512 u[2];
    VEC_UNROLL(2) for (int k = 0; k < (n + 3) / 4; k++) {
        const __m512 m0 = m[4 * k], m1 = n > 1 ? m[4 * k + 1] : m0, m2 = n > 2 ? m[4 * k + 2] : m1, m3 = n > 3 ? m[4 * k + 3] : m2;
        const __m512 t0 = _mm512_max_ps(_mm512_unpacklo_ps(m0, m1), _mm512_unpackhi_ps(m0, m1));
        const __m512 t1 = _mm512_max_ps(_mm512_unpacklo_ps(m2, m3), _mm512_unpackhi_ps(m2, m3));
        u[k] = _mm512_max_ps(_mm512_shuffle_ps(t0, t1, 0x44), _mm512_shuffle_ps(t0, t1, 0xEE));
    }
    const __m512 v = n > 4 ? _mm512_max_ps(_mm512_shuffle_f32x4(u[0], u[1], 0x44), _mm512_shuffle_f32x4(u[0], u[1], 0xEE))
                           : _mm512_max_ps(u[0], _mm512_shuffle_f32x4(u[0], u[0], 0x4E));
    return _mm512_max_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
}

/* Multiplies what the rows have summed by 2^(old - new maximum). Rare after the first pages. */
static void rescale(attend_block *b, const ingot_attend_args *a, __m512 running, int n_mids) {
    float c[16];
    _mm512_storeu_ps(c, vf_exp2(_mm512_sub_ps(_mm512_loadu_ps(b->m), running)));
    _mm512_storeu_ps(b->m, running);
    for (int r = 0; r < b->n; r++) {
        const __m512 f = _mm512_set1_ps(c[lane_of(r)]);
        float *mid = b->mid + (ptrdiff_t)r * n_mids * 16;
        _mm512_storeu_ps(b->l[r], _mm512_mul_ps(_mm512_loadu_ps(b->l[r]), f));
        for (int i = 0; i < a->v.dim; i += 16) _mm512_storeu_ps(b->o[r] + i, _mm512_mul_ps(_mm512_loadu_ps(b->o[r] + i), f));
        for (int i = 0; i < n_mids; i++) _mm512_storeu_ps(mid + i * 16, _mm512_mul_ps(_mm512_loadu_ps(mid + i * 16), f));
    }
}

/* Loads and masks the scores, brings the running maximum up to date. */
VEC_INLINE void p_start(const int n, p_rows *s, attend_block *b, const ingot_attend_args *a, const attend_page *pg, int n_mids) {
    __m512 m[BLOCK_ROWS];
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int t = 0; t < 4; t++) s->x[r][t] = _mm512_loadu_ps(pg->x + r * 64 + t * 16);
    }
    if (!pg->full) {
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            VEC_UNROLL(4) for (int t = 0; t < 4; t++) s->x[r][t] = vf_window(s->x[r][t], vf_set(VEC_MASKED), t * 16, pg->lo[r], pg->hi[r]);
        }
    }
    VEC_UNROLL(8) for (int r = 0; r < n; r++) m[r] = _mm512_max_ps(_mm512_max_ps(s->x[r][0], s->x[r][1]), _mm512_max_ps(s->x[r][2], s->x[r][3]));
    const __m512 old = _mm512_loadu_ps(b->m);
    s->top = _mm512_max_ps(row_tops(n, m), _mm512_set1_ps(VEC_FLOOR));
    s->running = _mm512_max_ps(s->top, old);
    if (__builtin_expect(_mm512_cmp_ps_mask(s->running, old, _CMP_GT_OQ) != 0, 0)) rescale(b, a, s->running, n_mids);
}

/* Weights in float, for f16 V. */
VEC_INLINE void p_float(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    p_rows s;
    float shift[16];
    p_start(n, &s, b, a, pg, 0);
    _mm512_storeu_ps(shift, s.running);
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        __m512 sum = _mm512_loadu_ps(b->l[r]);
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, 32 / n);
        VEC_UNROLL(4) for (int t = 0; t < 4; t++) {
            const __m512 p = vf_exp2(_mm512_sub_ps(s.x[r][t], _mm512_set1_ps(shift[lane_of(r)])));
            sum = _mm512_add_ps(sum, p);
            _mm512_storeu_ps(pg->x + r * 64 + t * 16, p);
        }
        _mm512_storeu_ps(b->l[r], sum);
    }
}

/* Largest of the 64 scales of a group within the tokens of `mask`: halves that are not negative order as integers. */
VEC_INLINE __m128 largest_scale(const uint16_t *s, __mmask64 mask) {
    const __m512i a = _mm512_max_epu16(_mm512_maskz_loadu_epi16((__mmask32)mask, s), _mm512_maskz_loadu_epi16((__mmask32)(mask >> 32), s + 32));
    const __m256i b = _mm256_max_epu16(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    const __m128i c = _mm_max_epu16(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1)), ones = _mm_set1_epi16(-1);
    return _mm_cvtph_ps(_mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(c, ones)), _mm_insert_epi16(_mm_setzero_si128(), 0xffff, 0)));
}

/* Weights x[4] times r[4] to integers, split in digits: dword lane i, byte b = token i + 16 b. */
VEC_INLINE void p_digits(const __m512 *x, const __m512 *r, uint32_t *high, uint32_t *low) {
    const __m512 magic = _mm512_set1_ps(8388608.f); /* leaves the integer in the low bits of the sum */
    const __m512i low8 = _mm512_set1_epi16(0xff), low16 = _mm512_set1_epi32(0xffff);
    __m512i v[4];
    VEC_UNROLL(4) for (int t = 0; t < 4; t++) v[t] = _mm512_castps_si512(_mm512_fmadd_ps(x[t], r[t], magic));
    const __m512i even = _mm512_ternarylogic_epi32(low16, v[0], _mm512_slli_epi32(v[2], 16), 0xCA);
    const __m512i odd = _mm512_ternarylogic_epi32(low16, v[1], _mm512_slli_epi32(v[3], 16), 0xCA);
    _mm512_storeu_si512(low, _mm512_ternarylogic_epi32(low8, even, _mm512_slli_epi16(odd, 8), 0xCA));
    _mm512_storeu_si512(high, _mm512_ternarylogic_epi32(low8, _mm512_srli_epi16(even, 8), odd, 0xCA));
}

/* Weights as digits, in units of the page's own maximum. `mids` points at the mid plane or is NULL;
 * `unit` is what a code counts in the V phase. */
VEC_INLINE void p_integer(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg, const tile16 *t16, const bool mids, const float unit) {
    const int lo = pg->window.lo, hi = pg->window.hi;
    const __mmask64 mask = (hi < 64 ? (1ull << hi) - 1 : ~0ull) & (~0ull << lo);
    p_rows s;
    float shift[16], worth[16];
    p_start(n, &s, b, a, pg, mids ? t16->n_groups : 0);
    _mm512_storeu_ps(shift, _mm512_sub_ps(_mm512_set1_ps(WEIGHT_MAX_LOG2), s.top));
    const __m512 worths = _mm512_mul_ps(vf_exp2(_mm512_sub_ps(s.top, s.running)), _mm512_set1_ps(1.f / WEIGHT_MAX));
    _mm512_storeu_ps(worth, worths);
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, (8 + n - 1) / n);
        VEC_UNROLL(4) for (int t = 0; t < 4; t++) s.x[r][t] = weight_exp2(_mm512_add_ps(s.x[r][t], _mm512_set1_ps(shift[lane_of(r)])));
        const __m512 sum = _mm512_add_ps(_mm512_add_ps(s.x[r][0], s.x[r][1]), _mm512_add_ps(s.x[r][2], s.x[r][3]));
        _mm512_storeu_ps(b->l[r], _mm512_fmadd_ps(sum, _mm512_set1_ps(worth[lane_of(r)]), _mm512_loadu_ps(b->l[r])));
    }
    for (int g = 0; g < t16->n_groups; g++) {
        const uint16_t *scales = (const uint16_t *)(const void *)pg->v + tile16_v_scale(g, 0);
        const uint16_t *mid = (const uint16_t *)(const void *)(pg->v + t16->mids) + tile16_v_scale(g, 0);
        const __m128 top = _mm_max_ss(largest_scale(scales, mask), _mm_set_ss(1e-30f));
        const __m512 inverse = _mm512_broadcastss_ps(_mm_div_ss(_mm_set_ss(1.f), top));
        const __m512 *x = &s.x[0][0];
        __m512 w[4];
        _mm512_storeu_ps(pg->factor[g], _mm512_mul_ps(worths, _mm512_broadcastss_ps(_mm_mul_ss(top, _mm_set_ss(unit)))));
        if (mids) {
            VEC_UNROLL(4) for (int t = 0; t < 4; t++) w[t] = _mm512_maskz_cvtph_ps((__mmask16)(mask >> (16 * t)), _mm256_loadu_si256((const void *)(mid + t * 16)));
            VEC_UNROLL(8) for (int r = 0; r < n; r++) {
                float *sum = b->mid + (r * t16->n_groups + g) * 16;
                const __m512 e = _mm512_fmadd_ps(s.x[r][2], w[2], _mm512_mul_ps(s.x[r][0], w[0]));
                const __m512 f = _mm512_fmadd_ps(s.x[r][3], w[3], _mm512_mul_ps(s.x[r][1], w[1]));
                _mm512_storeu_ps(sum, _mm512_fmadd_ps(_mm512_add_ps(e, f), _mm512_set1_ps(worth[lane_of(r)]), _mm512_loadu_ps(sum)));
            }
        }
        VEC_UNROLL(4) for (int t = 0; t < 4; t++) {
            w[t] = _mm512_mul_ps(_mm512_maskz_cvtph_ps((__mmask16)(mask >> (16 * t)), _mm256_loadu_si256((const void *)(scales + t * 16))), inverse);
        }
        __asm__ volatile("" : "+r"(x) : : "memory"); /* keeps the weights in memory, where they fit, not half in registers */
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            uint32_t *p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, ((mids ? 8 : 12) + n - 1) / n);
            p_digits(x + r * 4, w, p, p + 16);
        }
    }
}

VEC_INLINE void p_int4(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_int4(&a->v);
    p_integer(n, b, a, pg, &t16, true, 1.f / 16);
}

VEC_INLINE void p_q8(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_q8(&a->v);
    p_integer(n, b, a, pg, &t16, false, 1.f);
}

ATTEND_INSTANCES(p_float, p_float)
ATTEND_INSTANCES(p_int4, p_int4)
ATTEND_INSTANCES(p_q8, p_q8)

const attend_phase ingot_attend_p_avx512[INGOT_N_CODECS][BLOCK_SIZES] = {
    [INGOT_CODEC_F16] = ATTEND_ROW(p_float), [INGOT_CODEC_Q8_0] = ATTEND_ROW(p_q8), [INGOT_CODEC_INT4] = ATTEND_ROW(p_int4)};
