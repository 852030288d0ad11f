/* The packed attention around its phases: prepares queries and state of the blocks of rows, walks the pages. */
#include "attend_dot_avx512.h"
#include <string.h>

/* Largest query as two digits in -127..127 and -128..127. */
#define QUERY_MAX 32512.f

/* --- queries --- */

/* One row's digits and sums. */
static void prepare_digits(attend_block *b, const ingot_attend_args *a, int r, const float *q) {
    const int dim = a->k.dim, n = b->n, group = a->k.codec == INGOT_CODEC_INT4 ? a->k.group : TILE_Q8_GROUP, code_offset = a->k.codec == INGOT_CODEC_INT4 ? 8 : 128;
    __m512 top = _mm512_setzero_ps();
    for (int c = 0; c < dim; c += 16) top = _mm512_max_ps(top, _mm512_abs_ps(_mm512_loadu_ps(q + c)));
    const float most = _mm512_reduce_max_ps(top), step = most > 1e-30f ? most / QUERY_MAX : 1.f, inverse = 1.f / step;
    b->step[r] = step * a->scale * VEC_LOG2E;
    for (int c0 = 0; c0 < dim; c0 += group) {
        __m512i sum = _mm512_setzero_si512();
        __m512 sum_f = _mm512_setzero_ps();
        for (int c = c0; c < c0 + group && c < dim; c += 16) {
            const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(q + c), _mm512_set1_ps(inverse));
            const __m512i i = _mm512_cvtps_epi32(x);
            const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(128)), 8);
            const __m512i low = _mm512_sub_epi32(i, _mm512_slli_epi32(high, 8));
            int32_t digit[2][4];
            _mm_storeu_si128((void *)digit[0], _mm512_cvtepi32_epi8(high));
            _mm_storeu_si128((void *)digit[1], _mm512_cvtepi32_epi8(low));
            for (int j = 0; j < 4; j++) {
                b->q[(c / 4 + j) * 2 * n + r] = digit[0][j];
                b->q[((c / 4 + j) * 2 + 1) * n + r] = digit[1][j];
            }
            sum = _mm512_add_epi32(sum, i);
            sum_f = _mm512_add_ps(sum_f, x);
        }
        b->offset[c0 / group * n + r] = -code_offset * _mm512_reduce_add_epi32(sum);
        b->q_sum[c0 / group * n + r] = _mm512_reduce_add_ps(sum_f);
    }
}

static void prepare_floats(attend_block *b, const ingot_attend_args *a, int r, const float *q) {
    const float f = a->scale * VEC_LOG2E;
    for (int c = 0; c < a->k.dim; c++) b->qf[c * b->n + r] = q[c] * f;
}

/* Row of a lane of the vectors over rows. */
static int row_of(const attend_block *b, int lane) {
    const int r = (b->n == 8 && lane >= 8 ? 4 : 0) + lane % 4;
    return r < b->n ? r : b->n - 1;
}

static void block_start(attend_block *b, const ingot_attend_args *a, int gv) {
    for (int r = 0; r < b->n; r++) {
        const int row = b->row0 + r;
        if (a->k.codec == INGOT_CODEC_F16) prepare_floats(b, a, r, cpu_query_row(a, row));
        else prepare_digits(b, a, r, cpu_query_row(a, row));
        b->o[r] = a->o + (ptrdiff_t)row * a->v.dim;
        _mm512_storeu_ps(b->l[r], _mm512_maskz_mov_ps(1, _mm512_set1_ps(a->l[row])));
    }
    for (int i = 0; i < 16; i++) {
        const float m = a->m[b->row0 + row_of(b, i)] * VEC_LOG2E;
        b->m[i] = m > VEC_FLOOR ? m : VEC_FLOOR;
    }
    memset(b->mid, 0, (size_t)b->n * (size_t)gv * 16 * sizeof *b->mid);
}

/* Back into the caller's state. A row that has seen nothing keeps its own. */
static void block_end(attend_block *b, const ingot_attend_args *a, int gv) {
    for (int r = 0; r < b->n; r++) {
        const int row = b->row0 + r;
        const float m = b->m[lane_of(r)];
        if (m <= VEC_FLOOR) continue;
        if (m > a->m[row] * VEC_LOG2E) a->m[row] = m * VEC_LN2;
        a->l[row] = _mm512_reduce_add_ps(_mm512_loadu_ps(b->l[r]));
        if (a->v.codec != INGOT_CODEC_INT4) continue;
        for (int g = 0; g < gv; g++) {
            const __m512 mid = _mm512_set1_ps(_mm512_reduce_add_ps(_mm512_loadu_ps(b->mid + (r * gv + g) * 16)));
            const int end = (g + 1) * a->v.group < a->v.dim ? (g + 1) * a->v.group : a->v.dim;
            for (int c = g * a->v.group; c < end; c += 16) _mm512_storeu_ps(b->o[r] + c, _mm512_add_ps(_mm512_loadu_ps(b->o[r] + c), mid));
        }
    }
}

/* --- pages --- */

static bool page_sees_all(const attend_page *pg, int n) {
    for (int r = 0; r < n; r++) {
        if (pg->lo[r] > 0 || pg->hi[r] < TILE_TOKENS) return false;
    }
    return true;
}

void ingot_attend_packed_avx512(const ingot_attend_args *a) {
    const int gv = attend_groups(&a->v);
    const attend_plan p = ingot_attend_plan(cpu_scratch_align(a->scratch), &a->k, &a->v, a->n_tokens * a->n_group);
    const size_t bytes = a->v_offset + tile16_bytes(&a->v);
    for (int i = 0; i < p.n_blocks; i++) block_start(&p.block[i], a, gv);
    for (int page = 0; page < a->n_pages; page++) {
        const cpu_window w = cpu_window_of_tokens(a, page, 0, a->n_tokens);
        if (w.lo >= w.hi) continue;
        attend_page pg = {.k = a->tiles[page], .v = a->tiles[page] + a->v_offset, .x = p.x, .p = p.p};
        if (page + 1 < a->n_pages) {
            pg.ahead = (const char *)a->tiles[page + 1];
            pg.ahead_end = pg.ahead + bytes;
        }
        for (int i = 0; i < p.n_blocks; i++) {
            attend_block *b = &p.block[i];
            pg.window = cpu_window_of_rows(a, page, b->row0, b->n, pg.lo, pg.hi);
            if (pg.window.lo >= pg.window.hi) continue;
            pg.full = page_sees_all(&pg, b->n);
            ingot_attend_k_avx512[a->k.codec][attend_size_index(b->n)](b, a, &pg);
            ingot_attend_p_avx512[a->v.codec][attend_size_index(b->n)](b, a, &pg);
            ingot_attend_v_avx512[a->v.codec][attend_size_index(b->n)](b, a, &pg);
        }
        while (pg.ahead < pg.ahead_end) pg.ahead = ask_ahead(pg.ahead, pg.ahead_end, 1);
    }
    for (int i = 0; i < p.n_blocks; i++) block_end(&p.block[i], a, gv);
}
