/* First phase of the packed attention: scores of a block of rows with the 64 tokens of a K tile. */
#include "attend_dot_avx512.h"
#include "attend_f16.h"

/* The accumulators of one group for `tbs` token blocks: high digits start at 0, low ones at the code offset. */
typedef struct k_acc { __m512i hi[4][BLOCK_ROWS], lo[4][BLOCK_ROWS]; } k_acc;

VEC_INLINE void k_acc_start(const int n, const int tbs, k_acc *acc, const int32_t *offset) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
            acc->hi[t][r] = _mm512_setzero_si512();
            acc->lo[t][r] = _mm512_set1_epi32(offset[r]);
        }
    }
}

/* One quad of channels: codes c[t] of each token block with the rows' digits at q [high, low][n]. */
VEC_INLINE void k_acc_quad(const int n, const int tbs, k_acc *acc, const __m512i *c, const int32_t *q) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) acc->hi[t][r] = dot_broadcast(acc->hi[t][r], c[t], q + r);
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) acc->lo[t][r] = dot_broadcast(acc->lo[t][r], c[t], q + n + r);
    }
}

VEC_INLINE __m512 k_acc_value(const k_acc *acc, int t, int r) {
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(acc->hi[t][r], 8), acc->lo[t][r]));
}

VEC_INLINE void k_store(const int n, const int tbs, const attend_block *b, attend_page *pg, int tb0, __m512 s[4][BLOCK_ROWS]) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
            _mm512_storeu_ps(pg->x + r * 64 + (tb0 + t) * 16, _mm512_mul_ps(s[t][r], _mm512_set1_ps(b->step[r])));
        }
    }
}

/* Lines of the next page asked for while 16 channels of 16 tokens are worked on: two fifths of a page in this phase. */
enum { AHEAD_INT4 = 2, AHEAD_Q8 = 4 };

/* Two octets of channels. */
VEC_INLINE void k_int4_step(const int n, const int tbs, k_acc *acc, const uint8_t *row, ptrdiff_t tb_bytes, const int32_t *q) {
    const __m512i low = _mm512_set1_epi8(15);
    VEC_UNROLL(2) for (int j = 0; j < 2; j++) {
        __m512i raw[4], c[4];
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
            raw[t] = _mm512_loadu_si512(row + t * tb_bytes + j * 64);
            c[t] = _mm512_and_si512(raw[t], low);
        }
        k_acc_quad(n, tbs, acc, c, q + 4 * n * j);
        VEC_UNROLL(4) for (int t = 0; t < tbs; t++) c[t] = _mm512_and_si512(_mm512_srli_epi16(raw[t], 4), low);
        k_acc_quad(n, tbs, acc, c, q + 4 * n * j + 2 * n);
    }
}

/* `tbs` token blocks at once give 8 to 16 independent chains. */
VEC_INLINE void k_int4_blocks(const int n, const int tbs, const attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_int4(&a->k);
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k, *mids = (const uint16_t *)(const void *)(pg->k + t16.mids);
    const ptrdiff_t tb_bytes = (ptrdiff_t)t16.dim * 8, tb_scales = (ptrdiff_t)t16.n_groups * 16;
    const char *ahead = pg->ahead, *const end = pg->ahead_end;
    for (int tb0 = 0; tb0 < 4; tb0 += tbs) {
        const uint8_t *row = pg->k + t16.codes + tb0 * tb_bytes;
        const uint16_t *scale = scales + tb0 * tb_scales, *mid = mids + tb0 * tb_scales;
        const int32_t *q = b->q, *offset = b->offset;
        const float *q_sum = b->q_sum;
        __m512 s[4][BLOCK_ROWS];
        VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(4) for (int t = 0; t < tbs; t++) s[t][r] = _mm512_setzero_ps();
        for (int left = t16.dim; left > 0; left -= t16.group) {
            const uint8_t *const row_end = row + (left < t16.group ? left : t16.group) * 8;
            k_acc acc;
            k_acc_start(n, tbs, &acc, offset);
            for (; row + 256 <= row_end; row += 256, q += 16 * n) {
                ahead = ask_ahead(ahead, end, AHEAD_INT4 * tbs);
                k_int4_step(n, tbs, &acc, row, tb_bytes, q);
                ahead = ask_ahead(ahead, end, AHEAD_INT4 * tbs);
                k_int4_step(n, tbs, &acc, row + 128, tb_bytes, q + 8 * n);
            }
            if (row < row_end) {
                ahead = ask_ahead(ahead, end, AHEAD_INT4 * tbs);
                k_int4_step(n, tbs, &acc, row, tb_bytes, q);
                row += 128, q += 8 * n;
            }
            VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
                const __m512 sc = vf_halves(scale + t * tb_scales), md = vf_halves(mid + t * tb_scales);
                VEC_UNROLL(8) for (int r = 0; r < n; r++) {
                    s[t][r] = _mm512_fmadd_ps(k_acc_value(&acc, t, r), sc, s[t][r]);
                    s[t][r] = _mm512_fmadd_ps(md, _mm512_set1_ps(q_sum[r]), s[t][r]);
                }
            }
            scale += 16, mid += 16, offset += n, q_sum += n;
        }
        k_store(n, tbs, b, pg, tb0, s);
    }
    pg->ahead = ahead;
}

VEC_INLINE void k_q8_blocks(const int n, const int tbs, const attend_block *b, const ingot_attend_args *a, attend_page *pg) {
    const tile16 t16 = tile16_q8(&a->k);
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k;
    const ptrdiff_t tb_bytes = (ptrdiff_t)t16.dim * 16, tb_scales = (ptrdiff_t)t16.n_groups * 16;
    const char *ahead = pg->ahead, *const end = pg->ahead_end;
    for (int tb0 = 0; tb0 < 4; tb0 += tbs) {
        const uint8_t *row = pg->k + t16.codes + tb0 * tb_bytes;
        const int32_t *q = b->q;
        __m512 s[4][BLOCK_ROWS];
        VEC_UNROLL(8) for (int r = 0; r < n; r++) VEC_UNROLL(4) for (int t = 0; t < tbs; t++) s[t][r] = _mm512_setzero_ps();
        for (int g = 0; g < t16.n_groups; g++) {
            const int left = t16.dim - g * t16.group, quads = (left < t16.group ? left : t16.group) / 4;
            k_acc acc;
            k_acc_start(n, tbs, &acc, b->offset + g * n);
            for (int c = 0; c < quads; c += 4) {
                VEC_UNROLL(4) for (int j = 0; j < 4; j++) {
                    ahead = ask_ahead(ahead, end, AHEAD_Q8 * tbs / 4);
                    __m512i c4[4];
                    VEC_UNROLL(4) for (int t = 0; t < tbs; t++) c4[t] = _mm512_loadu_si512(row + t * tb_bytes + j * 64);
                    k_acc_quad(n, tbs, &acc, c4, q);
                    q += 2 * n;
                }
                row += 256;
            }
            VEC_UNROLL(4) for (int t = 0; t < tbs; t++) {
                const __m512 sc = vf_halves(scales + (tb0 + t) * tb_scales + g * 16);
                VEC_UNROLL(8) for (int r = 0; r < n; r++) s[t][r] = _mm512_fmadd_ps(k_acc_value(&acc, t, r), sc, s[t][r]);
            }
        }
        k_store(n, tbs, b, pg, tb0, s);
    }
    pg->ahead = ahead;
}

#define K_INT4(n, b, a, pg) k_int4_blocks(n, (n) > 4 ? 1 : (n) >= 2 ? 2 : 4, b, a, pg)
#define K_Q8(n, b, a, pg) k_q8_blocks(n, (n) >= 4 ? 1 : (n) >= 2 ? 2 : 4, b, a, pg)
ATTEND_INSTANCES(k_int4, K_INT4)
ATTEND_INSTANCES(k_q8, K_Q8)
ATTEND_INSTANCES(k_f16, k_f16)

const attend_phase ingot_attend_k_avx512[INGOT_N_CODECS][BLOCK_SIZES] = {
    [INGOT_CODEC_F16] = ATTEND_ROW(k_f16), [INGOT_CODEC_Q8_0] = ATTEND_ROW(k_q8), [INGOT_CODEC_INT4] = ATTEND_ROW(k_int4)};
