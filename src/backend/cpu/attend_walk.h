/* The packed attention around its phases: prepares queries and state of the blocks of rows, walks the pages. For files compiled
 * for one instruction set, which provide what attend_query.h wants. */
#ifndef INGOT_CPU_ATTEND_WALK_H
#define INGOT_CPU_ATTEND_WALK_H
#include "attend_query.h"
#include <string.h>

/* Row of a lane of the vectors over rows. */
static int row_of(const attend_block *b, int lane) {
    const int r = (b->n == 8 && lane >= 8 ? 4 : 0) + lane % 4;
    return r < b->n ? r : b->n - 1;
}

static void block_start(attend_block *b, const attend_call *c) {
    const ingot_attend_args *a = c->a;
    for (int r = 0; r < b->n; r++) {
        const int row = b->row0 + r;
        prepare_query(b, c, r, cpu_query_row(a, row));
        b->o[r] = a->o + (ptrdiff_t)row * a->v.dim;
        memset(b->l[r], 0, sizeof b->l[r]);
        b->l[r][0] = a->l[row];
    }
    for (int i = 0; i < 16; i++) {
        const float m = a->m[b->row0 + row_of(b, i)] * VEC_LOG2E;
        b->m[i] = m > VEC_FLOOR ? m : VEC_FLOOR;
    }
    memset(b->mid, 0, (size_t)b->n * (size_t)c->v.n_groups * 16 * sizeof *b->mid);
}

static void add_mids(attend_block *b, const attend_call *c, int r) {
    const tile16 *t = &c->v;
    for (int g = 0; g < t->n_groups; g++) {
        const vf mid = vf_set(vf_sum(vf_load(b->mid + (r * t->n_groups + g) * 16)));
        const int end = (g + 1) * t->group < t->dim ? (g + 1) * t->group : t->dim;
        for (int k = g * t->group; k < end; k += VW) vf_store(b->o[r] + k, vf_add(vf_load(b->o[r] + k), mid));
    }
}

/* Back into the caller's state. A row that has seen nothing keeps its own. */
static void block_end(attend_block *b, const attend_call *c) {
    const ingot_attend_args *a = c->a;
    for (int r = 0; r < b->n; r++) {
        const int row = b->row0 + r;
        const float m = b->m[lane_of(r)];
        if (m <= VEC_FLOOR) continue;
        if (m > a->m[row] * VEC_LOG2E) a->m[row] = m * VEC_LN2;
        a->l[row] = vf_sum(vf_load(b->l[r]));
        if (attend_has_mids(&c->v)) add_mids(b, c, r);
    }
}

static bool page_sees_all(const attend_page *pg, int n) {
    for (int r = 0; r < n; r++) {
        if (pg->lo[r] > 0 || pg->hi[r] < TILE_TOKENS) return false;
    }
    return true;
}

static void attend_block_on_page(attend_block *b, const attend_call *c, const attend_phases *phases, attend_page *pg, int page) {
    pg->window = cpu_window_of_rows(c->a, page, b->row0, b->n, pg->lo, pg->hi);
    if (pg->window.lo >= pg->window.hi) return;
    pg->full = page_sees_all(pg, b->n);
    for (int i = 0; c->k.tokens && i < TILE_TOKENS / c->k.tokens; i++) scale_queries(b, c, pg, i);
    phases->k[c->k_kind][attend_size_index(b->n)](b, c, pg);
    phases->p[c->v_kind][attend_size_index(b->n)](b, c, pg);
    phases->v[c->v_kind][attend_size_index(b->n)](b, c, pg);
}

static void attend_packed(const ingot_attend_args *a, const attend_phases *phases, int digits) {
    attend_call c;
    ingot_attend_call(&c, cpu_scratch_align(a->scratch), a, &a->k, &a->v, a->n_tokens * a->n_group, digits);
    const size_t bytes = a->v_offset + (c.v_kind == ATTEND_F16 ? tile16_bytes(&a->v) : c.v.bytes);
    for (int i = 0; i < c.n_blocks; i++) block_start(&c.block[i], &c);
    for (int page = 0; page < a->n_pages; page++) {
        const cpu_window w = cpu_window_of_tokens(a, page, 0, a->n_tokens);
        if (w.lo >= w.hi) continue;
        attend_page pg = {.k = a->tiles[page], .v = a->tiles[page] + a->v_offset, .x = c.x, .p = c.p};
        if (page + 1 < a->n_pages) {
            pg.ahead = (const char *)a->tiles[page + 1];
            pg.ahead_end = pg.ahead + bytes;
        }
        for (int i = 0; i < c.n_blocks; i++) attend_block_on_page(&c.block[i], &c, phases, &pg, page);
        while (pg.ahead < pg.ahead_end) pg.ahead = ask_ahead(pg.ahead, pg.ahead_end, 1);
    }
    for (int i = 0; i < c.n_blocks; i++) block_end(&c.block[i], &c);
}
#endif
