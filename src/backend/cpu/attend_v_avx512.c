/* Last phase of the packed attention: the rows' weights times the V tile, added to their outputs. */
#include "attend_dot_avx512.h"
#include "attend_f16.h"

/* Lines of the next page asked for with 4 quads of tokens of 32 channels; three tenths of a page in this phase. */
enum { AHEAD_INT4 = 3, AHEAD_Q8 = 6 };

/* Accumulators of up to 4 rows for two vectors of 16 channels, high and low digit of the weights. */
typedef struct v_acc { __m512i a[2][2][4]; } v_acc;

VEC_INLINE void v_acc_start(const int n, const int vecs, v_acc *acc) {
    VEC_UNROLL(2) for (int d = 0; d < 2; d++) {
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) VEC_UNROLL(4) for (int r = 0; r < n; r++) acc->a[d][k][r] = _mm512_setzero_si512();
    }
}

/* Tokens of quad i: codes c[k] with the weights p [n][high, low][16]. */
VEC_INLINE void v_acc_quad(const int n, const int vecs, v_acc *acc, const __m512i *c, const uint32_t *p, int i) {
    VEC_UNROLL(2) for (int d = 0; d < 2; d++) {
        VEC_UNROLL(4) for (int r = 0; r < n; r++) {
            const __m512i w = _mm512_set1_epi32((int)p[(r * 2 + d) * 16 + i]);
            VEC_UNROLL(2) for (int k = 0; k < vecs; k++) acc->a[d][k][r] = dot_lanes(acc->a[d][k][r], w, c[k]);
        }
    }
}

VEC_INLINE void v_acc_add(const int n, const int vecs, const v_acc *acc, float *const *o, int c, const float *factor) {
    VEC_UNROLL(4) for (int r = 0; r < n; r++) {
        const __m512 f = _mm512_set1_ps(factor[r]);
        VEC_UNROLL(2) for (int k = 0; k < vecs; k++) {
            const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(acc->a[0][k][r], 8), acc->a[1][k][r]);
            float *at = o[r] + c + k * 16;
            _mm512_storeu_ps(at, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), f, _mm512_loadu_ps(at)));
        }
    }
}

/* Codes stay shifted up by 4 bits in their bytes (the factor makes up for it): one operation less. */
VEC_INLINE void v_int4_unit(const int n, const uint8_t *row, const uint32_t *p, float *const *o, int c, const float *factor, attend_page *pg) {
    const __m512i high = _mm512_set1_epi8((char)0xf0);
    v_acc acc;
    v_acc_start(n, 2, &acc);
    __asm__ volatile("" : "+r"(p) : : "memory"); /* or the broadcasts are hoisted to the stack */
    for (int i = 0; i < 16; i += 4) {
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, AHEAD_INT4);
        VEC_UNROLL(4) for (int j = 0; j < 4; j++) {
            const __m512i raw = _mm512_loadu_si512(row + (i + j) * 64);
            const __m512i c2[2] = {_mm512_and_si512(_mm512_slli_epi16(raw, 4), high), _mm512_and_si512(raw, high)};
            v_acc_quad(n, 2, &acc, c2, p, i + j);
        }
    }
    v_acc_add(n, 2, &acc, o, c, factor);
}

/* A last unit of 16 channels: the two nibbles of a byte are two tokens. */
VEC_INLINE void v_int4_tail(const int n, const uint8_t *row, const uint32_t *p, float *const *o, int c, const float *factor) {
    const __m512i high = _mm512_set1_epi8((char)0xf0);
    v_acc acc;
    v_acc_start(n, 1, &acc);
    for (int i = 0; i < 8; i++) {
        const __m512i raw = _mm512_loadu_si512(row + i * 64);
        const __m512i c0 = _mm512_and_si512(_mm512_slli_epi16(raw, 4), high), c1 = _mm512_and_si512(raw, high);
        v_acc_quad(n, 1, &acc, &c0, p, i);
        v_acc_quad(n, 1, &acc, &c1, p, i + 8);
    }
    v_acc_add(n, 1, &acc, o, c, factor);
}

VEC_INLINE void v_int4(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_int4(&a->v);
    const int chunk = n > 4 ? 4 : n;
    for (int c = 0; c < t16.dim; c += 32) {
        const uint8_t *row = pg->v + t16.codes + (ptrdiff_t)c * 32;
        const int g = c / t16.group;
        for (int r = 0; r < n; r += chunk) {
            const uint32_t *p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            if (t16.dim - c < 32) v_int4_tail(chunk, row, p, b->o + r, c, pg->factor[g] + lane_of(r));
            else v_int4_unit(chunk, row, p, b->o + r, c, pg->factor[g] + lane_of(r), pg);
        }
    }
}

VEC_INLINE void v_q8_unit(const int n, const int vecs, const uint8_t *row, const uint32_t *p, float *const *o, int c, const float *factor, attend_page *pg) {
    v_acc acc;
    v_acc_start(n, vecs, &acc);
    __asm__ volatile("" : "+r"(p) : : "memory");
    for (int i = 0; i < 16; i += 4) {
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, AHEAD_Q8);
        VEC_UNROLL(4) for (int j = 0; j < 4; j++) {
            __m512i c2[2];
            VEC_UNROLL(2) for (int k = 0; k < vecs; k++) c2[k] = _mm512_loadu_si512(row + k * 1024 + (i + j) * 64);
            v_acc_quad(n, vecs, &acc, c2, p, i + j);
        }
    }
    v_acc_add(n, vecs, &acc, o, c, factor);
}

VEC_INLINE void v_q8(const int n, attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_q8(&a->v);
    const int chunk = n > 4 ? 4 : n;
    for (int c = 0; c < t16.dim; c += 32) {
        const uint8_t *row = pg->v + t16.codes + (ptrdiff_t)c * 64;
        const int g = c / t16.group;
        for (int r = 0; r < n; r += chunk) {
            const uint32_t *p = pg->p + (ptrdiff_t)(g * n + r) * 32;
            if (t16.dim - c < 32) v_q8_unit(chunk, 1, row, p, b->o + r, c, pg->factor[g] + lane_of(r), pg);
            else v_q8_unit(chunk, 2, row, p, b->o + r, c, pg->factor[g] + lane_of(r), pg);
        }
    }
}

ATTEND_INSTANCES(v_int4, v_int4)
ATTEND_INSTANCES(v_q8, v_q8)
ATTEND_INSTANCES(v_f16, v_f16)

const attend_phase ingot_attend_v_avx512[INGOT_N_CODECS][BLOCK_SIZES] = {
    [INGOT_CODEC_F16] = ATTEND_ROW(v_f16), [INGOT_CODEC_Q8_0] = ATTEND_ROW(v_q8), [INGOT_CODEC_INT4] = ATTEND_ROW(v_int4)};
