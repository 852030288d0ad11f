/* The packed attention around its phases: prepares queries and state of the blocks of rows, walks the pages. For files compiled
 * for one instruction set, which provide what attend_query.h wants, and
 *   code_fit(tile)              changes levels and unit of a tile that is taken with one digit, where the loops need it */
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
    prepare_queries(b, c);
    for (int r = 0; r < b->n; r++) {
        const int row = b->row0 + r;
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

/* Pages [from, to) that all rows see whole. */
typedef struct whole_pages { int from, to; } whole_pages;

static whole_pages find_whole_pages(const ingot_attend_args *a) {
    int lo = a->lo[0], hi = a->hi[0];
    for (int t = 1; t < a->n_tokens; t++) {
        if (a->lo[t] > lo) lo = a->lo[t];
        if (a->hi[t] < hi) hi = a->hi[t];
    }
    return (whole_pages){lo > 0 ? (lo + TILE_TOKENS - 1) / TILE_TOKENS : 0, hi > 0 ? hi / TILE_TOKENS : 0};
}

/* A phase in all sizes of blocks, for each side's kind and number of digits. */
typedef struct attend_way { const attend_phase *k, *p, *v; } attend_way;

/* Phases with one digit for a fast call, where there are any for the kind; the two sides differ if need be. */
static attend_way find_way(attend_call *c, const attend_phases *phases) {
    const attend_phases *k = &phases[c->a->fast && phases[0].k[c->k_kind][0] ? 0 : 1], *v = &phases[c->a->fast && phases[0].v[c->v_kind][0] ? 0 : 1];
    c->digits = k == phases ? 1 : 2;
    if (k == phases) code_fit(&c->k);
    if (v == phases) code_fit(&c->v);
    return (attend_way){k->k[c->k_kind], v->p[c->v_kind], v->v[c->v_kind]};
}

static void attend_block_on_page(attend_block *b, const attend_call *c, const attend_way *way, attend_page *pg) {
    for (int i = 0; c->k.tokens && i < TILE_TOKENS / c->k.tokens; i++) scale_queries(b, c, pg, i);
    const int size = attend_size_index(b->n);
    way->k[size](b, c, pg);
    way->p[size](b, c, pg);
    way->v[size](b, c, pg);
}

static void attend_page_in_part(const attend_call *c, const attend_way *way, attend_page *pg, int page) {
    pg->full = false;
    for (int i = 0; i < c->n_blocks; i++) {
        attend_block *b = &c->block[i];
        pg->window = cpu_window_of_rows(c->a, page, b->row0, b->n, pg->lo, pg->hi);
        if (pg->window.lo >= pg->window.hi) continue;
        pg->full = page_sees_all(pg, b->n);
        attend_block_on_page(b, c, way, pg);
    }
}

/* phases: [digits - 1] */
static bool attend_packed(const ingot_attend_args *a, const attend_phases phases[2]) {
    attend_call c;
    if (a->n_tokens * a->n_group > PACKED_ROWS || !ingot_attend_call(&c, cpu_scratch_align(a->scratch), a, &a->k, &a->v, a->n_tokens * a->n_group)) return false;
    const attend_way way = find_way(&c, phases);
    const size_t bytes = a->v_offset + (c.v_kind == ATTEND_F16 ? tile16_bytes(&a->v) : c.v.bytes);
    const whole_pages whole = find_whole_pages(a);
    attend_page pg;
    pg.x = c.x;
    pg.p = c.p;
    for (int i = 0; i < c.n_blocks; i++) block_start(&c.block[i], &c);
    for (int page = 0; page < a->n_pages; page++) {
        const bool is_whole = page >= whole.from && page < whole.to;
        if (!is_whole) {
            const cpu_window w = cpu_window_of_tokens(a, page, 0, a->n_tokens);
            if (w.lo >= w.hi) continue;
        }
        pg.k = a->tiles[page];
        pg.v = pg.k + a->v_offset;
        pg.ahead = page + 1 < a->n_pages ? (const char *)a->tiles[page + 1] : NULL;
        pg.ahead_end = pg.ahead ? pg.ahead + bytes : NULL;
        if (is_whole) {
            pg.full = true;
            pg.window = (cpu_window){0, TILE_TOKENS};
            for (int i = 0; i < c.n_blocks; i++) attend_block_on_page(&c.block[i], &c, &way, &pg);
        } else {
            attend_page_in_part(&c, &way, &pg, page);
        }
        while (pg.ahead < pg.ahead_end) pg.ahead = ask_ahead(pg.ahead, pg.ahead_end, 1);
    }
    for (int i = 0; i < c.n_blocks; i++) block_end(&c.block[i], &c);
    return true;
}
#endif
