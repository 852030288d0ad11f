/* First phase of the packed attention, AVX2: codes widened to 16 bits, times the 16-bit query. */
#include "attend_f16.h"

/* Lines of the next page asked for while 16 channels of 8 tokens are worked on; two fifths of a page in this phase. */
enum { AHEAD_INT4 = 1, AHEAD_Q8 = 2 };

/* Codes c (s16, channels 0 and 2 or 1 and 3 of a quad) with the rows' pairs at q. */
VEC_INLINE void k_pairs(const int n, __m256i *acc, __m256i c, const int32_t *q) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(c, _mm256_set1_epi32(q[r])));
}

/* A group of `rows` 64-byte rows: 8 channels each (int4) or 4 (q8_0); q [quad][even, odd][n]. */
VEC_INLINE const int32_t *k_group(const int n, const bool int4, __m256i *acc, const uint8_t *row, int rows, const int32_t *q, attend_page *pg) {
    const __m256i low4 = _mm256_set1_epi16(15), low8 = _mm256_set1_epi16(255);
    for (int i = 0; i < rows; i += 2) {
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, int4 ? AHEAD_INT4 : AHEAD_Q8 / 2);
        VEC_UNROLL(2) for (int j = 0; j < 2; j++) {
            const __m256i v = _mm256_loadu_si256((const void *)(row + (i + j) * 64));
            if (int4) {
                k_pairs(n, acc, _mm256_and_si256(v, low4), q);
                k_pairs(n, acc, _mm256_and_si256(_mm256_srli_epi16(v, 8), low4), q + n);
                k_pairs(n, acc, _mm256_and_si256(_mm256_srli_epi16(v, 4), low4), q + 2 * n);
                k_pairs(n, acc, _mm256_srli_epi16(v, 12), q + 3 * n);
                q += 4 * n;
            } else {
                k_pairs(n, acc, _mm256_and_si256(v, low8), q);
                k_pairs(n, acc, _mm256_srli_epi16(v, 8), q + n);
                q += 2 * n;
            }
        }
    }
    return q;
}

VEC_INLINE void k_integer(const int n, const bool int4, const attend_block *b, attend_page *pg, const tile16 *t16) {
    const int channels = int4 ? 8 : 4; /* of a row */
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k, *mids = (const uint16_t *)(const void *)(pg->k + t16->mids);
    for (int t = 0; t < 64; t += 8) {
        const uint8_t *row = pg->k + t16->codes + (ptrdiff_t)(t / 16) * (t16->dim / channels) * 64 + t % 16 * 4;
        const int32_t *q = b->q;
        __m256 s[BLOCK_ROWS];
        VEC_UNROLL(8) for (int r = 0; r < n; r++) s[r] = _mm256_setzero_ps();
        for (int g = 0; g < t16->n_groups; g++) {
            const int left = t16->dim - g * t16->group, rows = (left < t16->group ? left : t16->group) / channels;
            const size_t at = tile16_k_scale(t16->n_groups, g, t);
            __m256i acc[BLOCK_ROWS];
            VEC_UNROLL(8) for (int r = 0; r < n; r++) acc[r] = _mm256_set1_epi32(b->offset[g * n + r]);
            q = k_group(n, int4, acc, row, rows, q, pg);
            row += rows * 64;
            const __m256 scale = vf_halves(scales + at);
            VEC_UNROLL(8) for (int r = 0; r < n; r++) s[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc[r]), scale, s[r]);
            if (int4) {
                const __m256 mid = vf_halves(mids + at);
                VEC_UNROLL(8) for (int r = 0; r < n; r++) s[r] = _mm256_fmadd_ps(mid, _mm256_set1_ps(b->q_sum[g * n + r]), s[r]);
            }
        }
        VEC_UNROLL(8) for (int r = 0; r < n; r++) _mm256_storeu_ps(pg->x + r * 64 + t, _mm256_mul_ps(s[r], _mm256_set1_ps(b->step[r])));
    }
}

VEC_INLINE void k_int4(const int n, const attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_int4(&a->k);
    k_integer(n, true, b, pg, &t16);
}

VEC_INLINE void k_q8(const int n, const attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_q8(&a->k);
    k_integer(n, false, b, pg, &t16);
}

ATTEND_INSTANCES(k_int4, k_int4)
ATTEND_INSTANCES(k_q8, k_q8)
ATTEND_INSTANCES(k_f16, k_f16)

const attend_phase ingot_attend_k_avx2[INGOT_N_CODECS][BLOCK_SIZES] = {
    [INGOT_CODEC_F16] = ATTEND_ROW(k_f16), [INGOT_CODEC_Q8_0] = ATTEND_ROW(k_q8), [INGOT_CODEC_INT4] = ATTEND_ROW(k_int4)};
