/* Last phase of the packed attention, AVX2: codes widened to 16 bits, times the 16-bit weights. */
#include "attend_f16.h"

/* Lines of the next page asked for with 2 quads of tokens; three tenths of a page in this phase. */
enum { AHEAD_INT4 = 1, AHEAD_Q8 = 1 };

/* Codes c (s16, two tokens of a quad) with the weights p [n][first, second][16] of quad i. */
VEC_INLINE void v_pairs(const int n, __m256i *acc, __m256i c, const uint32_t *p, int i) {
    VEC_UNROLL(4) for (int r = 0; r < n; r++) {
        acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(c, _mm256_set1_epi32((int)p[r * 32 + i])));
    }
}

/* The nibbles of both bytes of each 16 bits, as numbers: low and high of the even byte, low and high of the odd one. */
VEC_INLINE void nibbles(__m256i v, __m256i *c) {
    c[0] = _mm256_srai_epi16(_mm256_slli_epi16(v, 12), 12);
    c[1] = _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 12);
    c[2] = _mm256_srai_epi16(_mm256_slli_epi16(v, 4), 12);
    c[3] = _mm256_srai_epi16(v, 12);
}

VEC_INLINE void v_add(const int n, const __m256i *acc, float *const *o, int c, const float *factor) {
    VEC_UNROLL(4) for (int r = 0; r < n; r++) {
        float *at = o[r] + c;
        _mm256_storeu_ps(at, _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc[r]), _mm256_set1_ps(factor[r]), _mm256_loadu_ps(at)));
    }
}

/* A unit of 32 channels at `row`, or the last 16, whose two nibbles are two tokens. */
VEC_INLINE void v_int4_unit(const int n, const bool tail, const uint8_t *row, const uint32_t *p, float *const *o, int c, const float *factor, attend_page *pg) {
    for (int h = 0; h < 2; h++) {
        __m256i lo[4], hi[4];
        VEC_UNROLL(4) for (int r = 0; r < n; r++) lo[r] = hi[r] = _mm256_setzero_si256();
        for (int i = 0; i < (tail ? 8 : 16); i += 2) {
            pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, AHEAD_INT4);
            VEC_UNROLL(2) for (int j = 0; j < 2; j++) {
                __m256i x[4];
                nibbles(_mm256_loadu_si256((const void *)(row + (i + j) * 64 + h * 32)), x);
                v_pairs(n, lo, x[0], p, i + j);
                v_pairs(n, lo, x[2], p + 16, i + j);
                v_pairs(n, tail ? lo : hi, x[1], p, i + j + (tail ? 8 : 0));
                v_pairs(n, tail ? lo : hi, x[3], p + 16, i + j + (tail ? 8 : 0));
            }
        }
        v_add(n, lo, o, c + h * 8, factor);
        if (!tail) v_add(n, hi, o, c + 16 + h * 8, factor);
    }
}

VEC_INLINE void v_int4(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_int4(&a->v);
    const int chunk = n > 4 ? 4 : n;
    for (int c = 0; c < t16.dim; c += 32) {
        const uint8_t *row = pg->v + t16.codes + (ptrdiff_t)c * 32;
        const int g = c / t16.group;
        for (int r = 0; r < n; r += chunk) {
            const uint32_t *p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            if (t16.dim - c < 32) v_int4_unit(chunk, true, row, p, b->o + r, c, pg->factor[g] + lane_of(r), pg);
            else v_int4_unit(chunk, false, row, p, b->o + r, c, pg->factor[g] + lane_of(r), pg);
        }
    }
}

VEC_INLINE void v_q8_unit(const int n, const uint8_t *row, const uint32_t *p, float *const *o, int c, const float *factor, attend_page *pg) {
    __m256i acc[2][4];
    VEC_UNROLL(2) for (int h = 0; h < 2; h++) VEC_UNROLL(4) for (int r = 0; r < n; r++) acc[h][r] = _mm256_setzero_si256();
    for (int i = 0; i < 16; i++) {
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, AHEAD_Q8);
        VEC_UNROLL(2) for (int h = 0; h < 2; h++) {
            const __m256i v = _mm256_loadu_si256((const void *)(row + i * 64 + h * 32));
            v_pairs(n, acc[h], _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), p, i);
            v_pairs(n, acc[h], _mm256_srai_epi16(v, 8), p + 16, i);
        }
    }
    VEC_UNROLL(2) for (int h = 0; h < 2; h++) v_add(n, acc[h], o, c + h * 8, factor);
}

VEC_INLINE void v_q8(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_q8(&a->v);
    const int chunk = n > 4 ? 4 : n;
    for (int c = 0; c < t16.dim; c += 16) {
        const int g = c / t16.group;
        for (int r = 0; r < n; r += chunk) {
            const uint32_t *p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            v_q8_unit(chunk, pg->v + t16.codes + (ptrdiff_t)c * 64, p, b->o + r, c, pg->factor[g] + lane_of(r), pg);
        }
    }
}

ATTEND_INSTANCES(v_int4, v_int4)
ATTEND_INSTANCES(v_q8, v_q8)
ATTEND_INSTANCES(v_f16, v_f16)

const attend_phase ingot_attend_v_avx2[INGOT_N_CODECS][BLOCK_SIZES] = {
    [INGOT_CODEC_F16] = ATTEND_ROW(v_f16), [INGOT_CODEC_Q8_0] = ATTEND_ROW(v_q8), [INGOT_CODEC_INT4] = ATTEND_ROW(v_int4)};
