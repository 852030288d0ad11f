/* Attention in float: of many rows, and of any number where a codec has no tuned layout. A page is taken in chunks of 64 channels: a chunk of K or V is unpacked into 16 KiB of
 * scratch, which stay in the first cache, and all rows run over it as a small matrix product; the exact online softmax
 * lies between the K and the V chunks. Included by one file for each instruction set. */
#ifndef INGOT_CPU_ATTEND_ROWS_H
#define INGOT_CPU_ATTEND_ROWS_H
#include "cpu_kv.h"
#include "softmax.h"
#include "tile_reader.h"

/* Rows of a block and vectors beside each other: ROWS x NV accumulators fill the register file. */
enum { ROWS = 6, NV = VW == 8 ? 2 : 4 };

/* Lines of a tile of the next page (NULL: none) that are asked for while this one is worked on, a part at each step. With few rows the memory would idle otherwise. */
typedef struct rows_ahead { const char *at, *end; int lines; } rows_ahead;

static rows_ahead ahead_of(const uint8_t *tile, size_t bytes, int steps) {
    const char *at = (const char *)tile;
    if (!tile) return (rows_ahead){0};
    return (rows_ahead){at, at + bytes, (int)((bytes / 64 + (size_t)steps) / (size_t)steps)};
}

static void ask_ahead_lines(rows_ahead *a) {
    for (int i = 0; i < a->lines && a->at < a->end; i++, a->at += 64) vec_ask(a->at);
}

/* A call's rows on one page. */
typedef struct rows_page {
    const ingot_attend_args *a;
    int n;             /* rows of this pass */
    cpu_row *row;
    float *x;          /* [n][64] scores, then weights */
    tile_reader k, v;
    cpu_window sees;   /* what the rows see of the page together */
    float *chunk;      /* unpacked chunk of K [channel][64] or V [token][64] */
} rows_page;

/* x[r][64] (+)= q[r] . k[][64] over the channels of a chunk; the last chunk multiplies by the scale. */
VEC_INLINE void scores_block(const int n, const rows_page *pg, int r0, int c0, int channels, bool first, float scale) {
    const float *q[ROWS];
    VEC_UNROLL(6) for (int r = 0; r < n; r++) q[r] = pg->row[r0 + r].q + c0;
    for (int at = 0; at < 64; at += NV * VW) {
        const float *k = pg->chunk + at;
        float *x = pg->x + r0 * 64 + at;
        vf acc[ROWS][NV];
        VEC_UNROLL(6) for (int r = 0; r < n; r++) {
            VEC_UNROLL(4) for (int j = 0; j < NV; j++) acc[r][j] = first ? vf_zero() : vf_load(x + r * 64 + j * VW);
        }
        for (int c = 0; c < channels; c++, k += 64) {
            vf kv[NV];
            VEC_UNROLL(4) for (int j = 0; j < NV; j++) kv[j] = vf_load(k + j * VW);
            VEC_UNROLL(6) for (int r = 0; r < n; r++) {
                const vf b = vf_set(q[r][c]);
                VEC_UNROLL(4) for (int j = 0; j < NV; j++) acc[r][j] = vf_fma(kv[j], b, acc[r][j]);
            }
        }
        VEC_UNROLL(6) for (int r = 0; r < n; r++) {
            VEC_UNROLL(4) for (int j = 0; j < NV; j++) vf_store(x + r * 64 + j * VW, vf_mul(acc[r][j], vf_set(scale)));
        }
    }
}

/* o[r][c..] = o[r] * corr[r] + p[r][lo..hi) . v for nv vectors of the chunk's channels from `at` on. */
VEC_INLINE void values_vectors(const int n, const int nv, const rows_page *pg, int r0, int c0, int at, int lo, int hi) {
    const float *v = pg->chunk + at, *p = pg->x + r0 * 64;
    vf acc[ROWS][NV];
    VEC_UNROLL(6) for (int r = 0; r < n; r++) {
        const cpu_row *row = &pg->row[r0 + r];
        VEC_UNROLL(4) for (int j = 0; j < nv; j++) acc[r][j] = vf_mul(vf_load(row->o + c0 + at + j * VW), vf_set(row->corr));
    }
    for (int t = lo; t < hi; t++) {
        vf x[NV];
        VEC_UNROLL(4) for (int j = 0; j < nv; j++) x[j] = vf_load(v + t * 64 + j * VW);
        VEC_UNROLL(6) for (int r = 0; r < n; r++) {
            const vf b = vf_set(p[r * 64 + t]);
            VEC_UNROLL(4) for (int j = 0; j < nv; j++) acc[r][j] = vf_fma(x[j], b, acc[r][j]);
        }
    }
    VEC_UNROLL(6) for (int r = 0; r < n; r++) {
        VEC_UNROLL(4) for (int j = 0; j < nv; j++) vf_store(pg->row[r0 + r].o + c0 + at + j * VW, acc[r][j]);
    }
}

VEC_INLINE void values_block(const int n, const rows_page *pg, int r0, int c0, int channels, int lo, int hi) {
    int at = 0;
    for (; at + NV * VW <= channels; at += NV * VW) values_vectors(n, NV, pg, r0, c0, at, lo, hi);
    for (; at < channels; at += VW) values_vectors(n, 1, pg, r0, c0, at, lo, hi);
}

/* A call with n as a constant for each number of rows. */
#define FOR_ROWS(n, call)                     \
    switch (n) {                              \
    case 1: call(1); break;                   \
    case 2: call(2); break;                   \
    case 3: call(3); break;                   \
    case 4: call(4); break;                   \
    case 5: call(5); break;                   \
    default: call(ROWS); break;               \
    }

static void scores_rows(const rows_page *pg, int r0, int n, int c0, int channels, bool first, float scale) {
#define SCORES(rows) scores_block(rows, pg, r0, c0, channels, first, scale)
    FOR_ROWS(n, SCORES)
#undef SCORES
}

static void values_rows(const rows_page *pg, int r0, int n, int c0, int channels, int lo, int hi) {
#define VALUES(rows) values_block(rows, pg, r0, c0, channels, lo, hi)
    FOR_ROWS(n, VALUES)
#undef VALUES
}

/* What rows [r0, r0 + n) see together. */
VEC_INLINE cpu_window window_of(const rows_page *pg, int r0, int n) {
    cpu_window w = {TILE_TOKENS, 0};
    for (int r = r0; r < r0 + n; r++) {
        const cpu_window x = pg->row[r].sees;
        if (x.lo >= x.hi) continue;
        if (x.lo < w.lo) w.lo = x.lo;
        if (x.hi > w.hi) w.hi = x.hi;
    }
    return w;
}

VEC_INLINE int smaller(int a, int b) { return a < b ? a : b; }

/* By the codec's score, block by block. */
static void rows_scores_of_codec(const rows_page *pg, const uint8_t *tile) {
    const ingot_kv_fmt *f = &pg->a->k;
    const ingot_codec *codec = ingot_codec_get(f->codec);
    const int tokens = ingot_codec_tokens(f);
    const size_t bytes = codec->block_bytes(f);
    const vf scale = vf_set(pg->a->scale);
    for (int r = 0; r < pg->n; r++) {
        float *x = pg->x + r * 64;
        for (int t = pg->sees.lo / tokens * tokens; t < pg->sees.hi; t += tokens) codec->score(f, pg->row[r].q, tile + (size_t)(t / tokens) * bytes, x + t);
        for (int t = 0; t < 64; t += VW) vf_store(x + t, vf_mul(vf_load(x + t), scale));
    }
}

static void rows_scores(const rows_page *pg, const uint8_t *tile, const uint8_t *next) {
    const int width = pg->k.s.width;
    rows_ahead ahead = ahead_of(next, pg->k.bytes, 2 * ((width + 63) / 64));
    if (pg->k.s.route == ROUTE_SCORE) {
        rows_scores_of_codec(pg, tile);
        return;
    }
    for (int c = 0; c < width; c += 64) {
        const int channels = smaller(64, width - c);
        ask_ahead_lines(&ahead);
        read_k(&pg->k, tile, pg->sees, c, channels, pg->chunk);
        ask_ahead_lines(&ahead);
        for (int r = 0; r < pg->n; r += ROWS) {
            const int n = smaller(ROWS, pg->n - r);
            const cpu_window w = window_of(pg, r, n);
            if (w.lo < w.hi) scores_rows(pg, r, n, c, channels, c == 0, c + channels == width ? pg->a->scale : 1.f);
        }
    }
}

static void rows_values(const rows_page *pg, const uint8_t *tile, const uint8_t *next) {
    const int width = pg->v.s.width;
    rows_ahead ahead = ahead_of(next, pg->v.bytes, 2 * ((width + 63) / 64));
    for (int c = 0; c < width; c += 64) {
        const int channels = smaller(64, width - c);
        ask_ahead_lines(&ahead);
        read_v(&pg->v, tile, pg->sees, c, channels, pg->chunk);
        ask_ahead_lines(&ahead);
        for (int r = 0; r < pg->n; r += ROWS) {
            const int n = smaller(ROWS, pg->n - r);
            const cpu_window w = window_of(pg, r, n);
            if (w.lo < w.hi) values_rows(pg, r, n, c, channels, w.lo, w.hi);
        }
    }
}

/* Rows [r0, r0 + n) with their queries prepared and wide outputs at 0, where the routes want that. */
static void rows_start(const rows_page *pg, int r0, int n, float *queries, float *outs) {
    const ingot_attend_args *a = pg->a;
    for (int r = 0; r < n; r++) {
        cpu_row *row = &pg->row[r];
        *row = (cpu_row){.q = cpu_query_row(a, r0 + r), .o = a->o + (ptrdiff_t)(r0 + r) * a->v.dim, .token = (r0 + r) / a->n_group, .kept = 1.f};
        if (pg->k.s.of_row) {
            float *q = queries + (size_t)r * pg->k.s.of_row;
            ingot_codec_get(a->k.codec)->prepare(&a->k, row->q, q);
            row->q = q;
        }
        if (pg->v.s.of_row) {
            row->o = outs + (size_t)r * pg->v.s.of_row;
            memset(row->o, 0, pg->v.s.of_row * sizeof *row->o);
        }
    }
}

/* Wide outputs are narrowed once, at the end. */
static void rows_end(const rows_page *pg, int r0, int n) {
    const ingot_kv_fmt *f = &pg->a->v;
    float x[INGOT_MAX_HEAD_DIM];
    for (int r = 0; r < n && pg->v.s.of_row; r++) {
        float *o = pg->a->o + (ptrdiff_t)(r0 + r) * f->dim;
        ingot_codec_get(f->codec)->narrow(f, pg->row[r].o, x);
        for (int c = 0; c < f->dim; c += VW) vf_store(o + c, vf_add(vf_mul(vf_load(o + c), vf_set(pg->row[r].kept)), vf_load(x + c)));
    }
}

/* Rows [r0, r0 + n) over all pages. */
static void rows_pass(rows_page *pg, int r0, int n, float *queries, float *outs) {
    const ingot_attend_args *a = pg->a;
    const int t0 = r0 / a->n_group, t1 = (r0 + n - 1) / a->n_group;
    pg->n = n;
    rows_start(pg, r0, n, queries, outs);
    for (int page = 0; page < a->n_pages; page++) {
        pg->sees = cpu_window_of_tokens(a, page, t0, t1 - t0 + 1);
        if (pg->sees.lo >= pg->sees.hi) continue;
        for (int r = 0; r < n; r++) pg->row[r].sees = cpu_window_of_token(a, page, pg->row[r].token);
        const uint8_t *next = page + 1 < a->n_pages ? a->tiles[page + 1] : NULL;
        rows_scores(pg, a->tiles[page], next);
        for (int r = 0; r < n; r++) {
            cpu_row *row = &pg->row[r];
            row->corr = softmax_row(pg->x + r * 64, row->sees.lo, row->sees.hi, &a->m[r0 + r], &a->l[r0 + r]);
            row->kept *= row->corr;
        }
        rows_values(pg, a->tiles[page] + a->v_offset, next ? next + a->v_offset : NULL);
    }
    rows_end(pg, r0, n);
}

static void attend_rows(const ingot_attend_args *a) {
    const int n_rows = a->n_tokens * a->n_group, pass = smaller(n_rows, CPU_PASS_ROWS);
    rows_page pg;
    pg.a = a;
    tile_reader_make(&pg.k, &a->k, INGOT_SIDE_K, n_rows);
    tile_reader_make(&pg.v, &a->v, INGOT_SIDE_V, n_rows);
    pg.chunk = cpu_scratch_align(a->scratch);
    pg.k.page = pg.v.page = pg.chunk + 64 * 64;
    float *queries = pg.k.page + (pg.k.s.decoded > pg.v.s.decoded ? pg.k.s.decoded : pg.v.s.decoded), *outs = queries + (size_t)pass * pg.k.s.of_row;
    pg.x = outs + (size_t)pass * pg.v.s.of_row;
    pg.row = (cpu_row *)(void *)(pg.x + pass * 64);
    for (int r = 0; r < n_rows; r += CPU_PASS_ROWS) rows_pass(&pg, r, smaller(CPU_PASS_ROWS, n_rows - r), queries, outs);
}
#endif
