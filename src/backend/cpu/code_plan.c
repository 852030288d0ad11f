#include "code_plan.h"
#include "../../codec/shape.h"

/* The tables of 7 and 8 bits that there are (affine, FP8) are levels by arithmetic. */
static bool find_levels(code_part *p) {
    const int bits = p->s.bits, n = 1 << bits;
    if (bits <= 6) {
        p->kind = bits <= 3 ? CODE_TABLE_8 : bits == 4 ? CODE_TABLE_16 : bits == 5 ? CODE_TABLE_32 : CODE_TABLE_64;
        for (int i = 0; i < 64; i++) p->table[i] = p->s.level[i & (n - 1)];
        return true;
    }
    p->kind = p->s.level == ingot_levels_e4m3 ? CODE_E4M3 : CODE_LINEAR;
    p->base = (int)p->s.level[0];
    return p->kind == CODE_E4M3 || p->s.level == ingot_levels_centred(bits);
}

static bool is_readable(const code_part *p, ingot_kv_side side) {
    const ingot_code_shape *s = &p->s;
    if (p->block_bytes < 4 || p->channels % 16) return false;
    if (s->order == INGOT_ORDER_HALVES) return p->tokens == 1 && (s->bits == 4 || s->bits == 5) && s->group == 32;
    if (s->token_stride) return side == INGOT_SIDE_K && p->tokens % 16 == 0 && s->bits <= 4 && s->has_offset && s->code_at + s->token_stride >= 4;
    return p->tokens == 1 && s->group % 16 == 0;
}

bool ingot_code_plan(const ingot_kv_fmt *f, code_plan *p) {
    const ingot_codec *codec = ingot_codec_get(f->codec);
    ingot_code_shape shape[2];
    int channels[2] = {f->dim, 0};
    if (codec->shape) codec->shape(f, &shape[0]);
    else if (codec->parts) codec->parts(f, shape, channels);
    else return false;
    *p = (code_plan){.n = codec->shape ? 1 : 2};
    for (int i = 0; i < p->n; i++) {
        code_part *part = &p->part[i];
        *part = (code_part){.s = shape[i], .channels = channels[i], .block_bytes = (int)codec->block_bytes(f), .tokens = ingot_codec_tokens(f)};
        if (!is_readable(part, f->side) || !find_levels(part)) return false;
        p->begin[i + 1] = p->begin[i] + channels[i];
    }
    return true;
}

/* Codecs with loops of their own; some take head sizes that are powers of two, 32 and up. */
static const struct { cpu_route route; bool powers; } own[INGOT_N_CODECS] = {
    [INGOT_CODEC_POLAR] = {ROUTE_OWN, false}, [INGOT_CODEC_POLARPAIR] = {ROUTE_PAGE, false}, [INGOT_CODEC_QJL] = {ROUTE_PAGE, true},
    [INGOT_CODEC_PQ8] = {ROUTE_OWN, false},   [INGOT_CODEC_PQ10] = {ROUTE_OWN, false},       [INGOT_CODEC_PQ12] = {ROUTE_OWN, false}};

static cpu_route route_of(const ingot_kv_fmt *f, ingot_kv_side side, int n_rows, tile16 *tile, code_plan *plan) {
    if (f->codec == INGOT_CODEC_F16) return ROUTE_TUNED;
    if (tile16_make(tile, f)) {
        ingot_code_plan(f, plan); /* for the levels; bytes are their own */
        return ROUTE_TUNED;
    }
    if (own[f->codec].route && (!own[f->codec].powers || (f->dim >= 32 && (f->dim & (f->dim - 1)) == 0))) return own[f->codec].route;
    if (ingot_code_plan(f, plan)) return ROUTE_PLAN;
    return side == INGOT_SIDE_K && ingot_codec_get(f->codec)->score && n_rows <= SCORE_ROWS ? ROUTE_SCORE : ROUTE_DECODE;
}

void ingot_cpu_side_plan(cpu_side *s, const ingot_kv_fmt *f, ingot_kv_side side, int n_rows) {
    s->f = f;
    s->route = route_of(f, side, n_rows, &s->tile, &s->plan);
    s->width = s->route == ROUTE_PLAN ? s->plan.begin[s->plan.n] : f->dim;
    s->decoded = s->route == ROUTE_PAGE || s->route == ROUTE_DECODE ? INGOT_PAGE_TOKENS * (size_t)f->dim : 0;
    s->of_row = s->route == ROUTE_SCORE ? (ingot_codec_get(f->codec)->query_bytes(f) + 63) / 64 * 16 : s->width > f->dim ? (size_t)s->width : 0;
}
