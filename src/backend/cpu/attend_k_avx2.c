/* First phase of the packed attention, AVX2: codes widened to 16 bits, times the 16-bit query. */
#include "attend_book_avx2.h"
#include "attend_f16.h"

/* A quad of channels with the rows' pairs at q [even, odd][n]. Returns where the next quad's are. */
VEC_INLINE const int32_t *k_quad(const int n, __m256i *acc, attend_pairs c, const int32_t *q) {
    VEC_UNROLL(8) for (int r = 0; r < n; r++) {
        acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(c.even, _mm256_set1_epi32(q[r])));
        acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(c.odd, _mm256_set1_epi32(q[n + r])));
    }
    return q + 2 * n;
}

VEC_INLINE const int32_t *k_step(const tile_kind kind, const int n, __m256i *acc, __m256i book, const uint8_t *row, const int32_t *q) {
    __m256i raw[4];
    VEC_UNROLL(4) for (int j = 0; j < k_step_rows(kind); j++) {
        raw[j] = _mm256_loadu_si256((const void *)(row + j * 64));
        if (kind == TILE_LINEAR8) q = k_quad(n, acc, pairs_unsigned(raw[j]), q);
        if (kind == TILE_LINEAR4) VEC_UNROLL(2) for (int k = 0; k < 2; k++) q = k_quad(n, acc, nibbles_unsigned(raw[j], k), q);
        if (kind == TILE_BOOK4) VEC_UNROLL(2) for (int k = 0; k < 2; k++) q = k_quad(n, acc, pairs_of_book(book, raw[j], 4 * k), q);
        if (kind == TILE_BOOK2) VEC_UNROLL(4) for (int k = 0; k < 4; k++) q = k_quad(n, acc, pairs_of_book(book, raw[j], 2 * k), q);
        if (kind == TILE_BOOK3) VEC_UNROLL(2) for (int k = 0; k < 2; k++) q = k_quad(n, acc, pairs_of_book(book, raw[j], 3 * k), q);
    }
    if (kind != TILE_BOOK3) return q;
    const __m256i top = top_of_3(raw[0], raw[1], raw[2]);
    q = k_quad(n, acc, pairs_of_book(book, top, 0), q);
    return k_quad(n, acc, pairs_of_book(book, top, 3), q);
}

/* All channels of a group; asks for two fifths of the next page. */
VEC_INLINE const int32_t *k_group(const tile_kind kind, const int n, __m256i *acc, __m256i book, const uint8_t *row, int channels, const int32_t *q, attend_page *pg) {
    const int step = k_step_channels(kind), rows = k_step_rows(kind);
    for (; channels > 0; channels -= step, row += rows * 64) {
        pg->ahead = ask_ahead(pg->ahead, pg->ahead_end, (rows + 1) / 2);
        q = k_step(kind, n, acc, book, row, q);
    }
    return q;
}

VEC_INLINE const uint8_t *k_row(const tile16 *t16, const attend_page *pg, int token, int channel) {
    return pg->k + t16->codes + ((ptrdiff_t)(token / 16) * t16->dim + channel) * 2 * t16->bits + token % 16 * 4;
}

VEC_INLINE void k_tokens(const tile_kind kind, const int n, const attend_block *b, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->k;
    const __m256i book = attend_book_of(TILE_BOOK4, t16, 0).table[0];
    const uint16_t *scales = (const uint16_t *)(const void *)pg->k, *offsets = (const uint16_t *)(const void *)(pg->k + t16->offsets);
    for (int t = 0; t < 64; t += 8) {
        const int32_t *q = b->q;
        __m256 s[BLOCK_ROWS];
        VEC_UNROLL(8) for (int r = 0; r < n; r++) s[r] = _mm256_setzero_ps();
        for (int g = 0, c = 0; c < t16->dim; g++, c += t16->group) {
            const int channels = t16->dim - c < t16->group ? t16->dim - c : t16->group;
            const size_t at = tile16_k_scale(t16->n_groups, g, t);
            __m256i acc[BLOCK_ROWS];
            VEC_UNROLL(8) for (int r = 0; r < n; r++) acc[r] = _mm256_set1_epi32(b->offset[g * n + r]);
            q = k_group(kind, n, acc, book, k_row(t16, pg, t, c), channels, q, pg);
            const __m256 scale = vf_halves(scales + at);
            VEC_UNROLL(8) for (int r = 0; r < n; r++) s[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc[r]), scale, s[r]);
            if (!t16->has_offset) continue;
            const __m256 mid = _mm256_fmadd_ps(scale, _mm256_set1_ps(t16->shift), vf_halves(offsets + at));
            VEC_UNROLL(8) for (int r = 0; r < n; r++) s[r] = _mm256_fmadd_ps(mid, _mm256_set1_ps(b->q_sum[g * n + r]), s[r]);
        }
        VEC_UNROLL(8) for (int r = 0; r < n; r++) _mm256_storeu_ps(pg->x + r * 64 + t, _mm256_mul_ps(s[r], _mm256_set1_ps(b->step[r])));
    }
}

/* Scales per channel are in the queries already. */
VEC_INLINE void k_channels(const tile_kind kind, const int n, const attend_call *call, attend_page *pg) {
    const tile16 *t16 = &call->k;
    const __m256i book = attend_book_of(TILE_BOOK4, t16, 0).table[0];
    for (int t = 0; t < 64; t += 8) {
        const attend_scaled *scaled = &pg->scaled[t / t16->tokens];
        __m256i acc[BLOCK_ROWS];
        VEC_UNROLL(8) for (int r = 0; r < n; r++) acc[r] = _mm256_set1_epi32(scaled->offset[r]);
        k_group(kind, n, acc, book, k_row(t16, pg, t, 0), t16->dim, scaled->q, pg);
        VEC_UNROLL(8) for (int r = 0; r < n; r++) {
            _mm256_storeu_ps(pg->x + r * 64 + t, _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc[r]), _mm256_set1_ps(scaled->step[r]), _mm256_set1_ps(scaled->add[r])));
        }
    }
}

VEC_INLINE void k_integer(const tile_kind kind, const int n, const attend_block *b, const attend_call *call, attend_page *pg) {
    if ((kind == TILE_LINEAR4 || kind == TILE_BOOK2) && call->k.tokens) k_channels(kind, n, call, pg);
    else k_tokens(kind, n, b, call, pg);
}

#define K_PRECISE(kind, digits, n, b, c, pg) k_integer(kind, n, b, c, pg)
ATTEND_INTEGERS(k, K_PRECISE, 2)
ATTEND_INSTANCES(k_f16, k_f16)

const attend_phase ingot_attend_k_avx2[ATTEND_KINDS][BLOCK_SIZES] = ATTEND_TABLE(k, 2);
