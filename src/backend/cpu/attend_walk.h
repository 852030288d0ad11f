/* The packed attention around its phases: prepares queries and state of the blocks of rows, walks the pages. For files compiled
 * for one instruction set, which provide before
 *   pack_query(i, out)   integers of VW channels as the K phase takes them: out [quad][first, second] */
#ifndef INGOT_CPU_ATTEND_WALK_H
#define INGOT_CPU_ATTEND_WALK_H
#include "attend_phase.h"
#include <string.h>

/* Largest query: as two digits in -127..127 and -128..127. */
#define QUERY_MAX 32512.f

/* --- queries --- */

/* One row's integers, in the order [quad][first, second][n], and their sums. */
static void prepare_integers(attend_block *b, const ingot_attend_args *a, int r, const float *q) {
    const int dim = a->k.dim, n = b->n, group = a->k.codec == INGOT_CODEC_INT4 ? a->k.group : TILE_Q8_GROUP;
    const int code_offset = a->k.codec == INGOT_CODEC_INT4 ? 8 : 128;
    vf top = vf_zero();
    for (int c = 0; c < dim; c += VW) top = vf_max(top, vf_max(vf_load(q + c), vf_sub(vf_zero(), vf_load(q + c))));
    const float most = vf_top(top), step = most > 1e-30f ? most / QUERY_MAX : 1.f, inverse = 1.f / step;
    b->step[r] = step * a->scale * VEC_LOG2E;
    for (int c0 = 0; c0 < dim; c0 += group) {
        vi sum = vi_set(0);
        vf sum_f = vf_zero();
        for (int c = c0; c < c0 + group && c < dim; c += VW) {
            const vf x = vf_mul(vf_load(q + c), vf_set(inverse));
            const vi i = vi_nearest(x);
            int32_t packed[VW / 4][2];
            pack_query(i, packed);
            for (int j = 0; j < VW / 4; j++) {
                b->q[(c / 4 + j) * 2 * n + r] = packed[j][0];
                b->q[((c / 4 + j) * 2 + 1) * n + r] = packed[j][1];
            }
            sum = vi_add(sum, i);
            sum_f = vf_add(sum_f, x);
        }
        b->offset[c0 / group * n + r] = -code_offset * vi_sum(sum);
        b->q_sum[c0 / group * n + r] = vf_sum(sum_f);
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
        else prepare_integers(b, a, r, cpu_query_row(a, row));
        b->o[r] = a->o + (ptrdiff_t)row * a->v.dim;
        memset(b->l[r], 0, sizeof b->l[r]);
        b->l[r][0] = a->l[row];
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
        a->l[row] = vf_sum(vf_load(b->l[r]));
        if (a->v.codec != INGOT_CODEC_INT4) continue;
        for (int g = 0; g < gv; g++) {
            const vf mid = vf_set(vf_sum(vf_load(b->mid + (r * gv + g) * 16)));
            const int end = (g + 1) * a->v.group < a->v.dim ? (g + 1) * a->v.group : a->v.dim;
            for (int c = g * a->v.group; c < end; c += VW) vf_store(b->o[r] + c, vf_add(vf_load(b->o[r] + c), mid));
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

static void attend_packed(const ingot_attend_args *a, const attend_phases *phases) {
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
            phases->k[a->k.codec][attend_size_index(b->n)](b, a, &pg);
            phases->p[a->v.codec][attend_size_index(b->n)](b, a, &pg);
            phases->v[a->v.codec][attend_size_index(b->n)](b, a, &pg);
        }
        while (pg.ahead < pg.ahead_end) pg.ahead = ask_ahead(pg.ahead, pg.ahead_end, 1);
    }
    for (int i = 0; i < p.n_blocks; i++) block_end(&p.block[i], a, gv);
}
#endif
