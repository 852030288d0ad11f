/* Unpacks chunks of at most 64 channels of a tile of any codec, by the side's route. For files compiled for one instruction
 * set, which name their loops before: UNPACK, a cpu_unpack. */
#ifndef INGOT_CPU_TILE_READER_H
#define INGOT_CPU_TILE_READER_H
#include "tile_unpack.h"
#include "unpack.h"
#include <string.h>

/* How the tiles of one side of a call are read. */
typedef struct tile_reader {
    cpu_side s;
    ingot_kv_side side;
    size_t bytes; /* of a tile, near enough to ask for the next one */
    float *page;  /* ROUTE_DECODE: [64][dim]; ROUTE_PAGE: [dim][64] */
} tile_reader;

static void tile_reader_make(tile_reader *r, const ingot_kv_fmt *f, ingot_kv_side side, int n_rows) {
    ingot_cpu_side_plan(&r->s, f, side, n_rows);
    r->side = side;
    r->bytes = r->s.route == ROUTE_TUNED ? tile16_bytes(f) : (size_t)(INGOT_PAGE_TOKENS / ingot_codec_tokens(f)) * ingot_codec_get(f->codec)->block_bytes(f);
}

/* The blocks that hold tokens of the window. */
static void decode_page(const tile_reader *r, const uint8_t *tile, cpu_window w) {
    const ingot_codec *codec = ingot_codec_get(r->s.f->codec);
    const int tokens = ingot_codec_tokens(r->s.f);
    const size_t bytes = codec->block_bytes(r->s.f);
    for (int t = w.lo / tokens * tokens; t < w.hi; t += tokens) codec->decode(r->s.f, tile + (size_t)(t / tokens) * bytes, r->page + (ptrdiff_t)t * r->s.f->dim);
}

/* Channels [c0, c0 + channels) of a plan's parts; `step` floats from one channel to the next. */
static void unpack_parts(const code_plan *p, unpack_codes_fn unpack, const uint8_t *tile, cpu_window w, int c0, int channels, ptrdiff_t step, float *out) {
    for (int i = 0; i < p->n; i++) {
        const int from = c0 > p->begin[i] ? c0 : p->begin[i], last = p->begin[i + 1], end = c0 + channels < last ? c0 + channels : last;
        if (from < end) unpack(&p->part[i], tile, w, from - p->begin[i], end - from, out + (from - c0) * step);
    }
}

/* out [channel][64 tokens] from rows of `stride` floats. */
static void transpose_chunk(const float *rows, int stride, cpu_window w, int channels, float *out) {
    for (int t = w.lo / 4 * 4; t < w.hi; t += 4) {
        const float *x = rows + (ptrdiff_t)t * stride;
        for (int c = 0; c < channels; c += 4, x += 4) transpose_4((const float *const[4]){x, x + stride, x + 2 * (ptrdiff_t)stride, x + 3 * (ptrdiff_t)stride}, out + c * 64 + t, 64);
    }
}

static void unpack_tuned(const tile_reader *r, const uint8_t *tile, int c0, int channels, float *out) {
    const ingot_kv_fmt *f = r->s.f;
    if (f->codec != INGOT_CODEC_F16) tile_unpack_of[r->side][r->s.tile.bits](&r->s.tile, &r->s.plan.part[0], tile, c0, channels, out);
    else if (r->side == INGOT_SIDE_K) unpack_k_f16(f, tile, c0, channels, out);
    else unpack_v_f16(f, tile, c0, channels, out);
}

/* Channels [c0, c0 + channels) of the tokens of the window; others may stay as they were. The chunks of a tile are read in order, from the first on. */
static void read_k(const tile_reader *r, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    switch (r->s.route) {
    case ROUTE_TUNED: unpack_tuned(r, tile, c0, channels, out); return;
    case ROUTE_OWN: UNPACK.own[INGOT_SIDE_K][r->s.f->codec](r->s.f, tile, w, c0, channels, out); return;
    case ROUTE_PAGE:
        if (c0 == 0) UNPACK.page[r->s.f->codec](r->s.f, tile, w, r->page);
        memcpy(out, r->page + c0 * 64, (size_t)channels * 64 * sizeof *out);
        return;
    case ROUTE_PLAN: unpack_parts(&r->s.plan, UNPACK.codes[INGOT_SIDE_K], tile, w, c0, channels, 64, out); return;
    default:
        if (c0 == 0) decode_page(r, tile, w);
        transpose_chunk(r->page + c0, r->s.f->dim, w, channels, out);
    }
}

static void read_v(const tile_reader *r, const uint8_t *tile, cpu_window w, int c0, int channels, float *out) {
    switch (r->s.route) {
    case ROUTE_TUNED: unpack_tuned(r, tile, c0, channels, out); return;
    case ROUTE_OWN: UNPACK.own[INGOT_SIDE_V][r->s.f->codec](r->s.f, tile, w, c0, channels, out); return;
    case ROUTE_PLAN: unpack_parts(&r->s.plan, UNPACK.codes[INGOT_SIDE_V], tile, w, c0, channels, 1, out); return;
    default:
        if (c0 == 0) decode_page(r, tile, w);
        for (int t = w.lo; t < w.hi; t++) memcpy(out + t * 64, r->page + (ptrdiff_t)t * r->s.f->dim + c0, (size_t)channels * sizeof *out);
    }
}
#endif
