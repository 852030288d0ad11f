#include "tile16.h"
#include "../../codec/shape.h"

/* Numbers of the codes of at most 4 bits. A book that goes from 0 up is centred, so that rounding errors of the other factor meet small numbers. */
static void find_levels(tile16 *t, const ingot_code_shape *s) {
    const int n = 1 << s->bits;
    const bool plain = s->level[0] == 0;
    const float from = plain ? 0.5f * (float)(n - 1) : 0;
    t->unit = plain ? 0.5f * s->unit : s->unit;
    t->shift = plain ? from * s->unit : 0;
    const float inverse = (plain ? 2 : 1) / s->unit;
    for (int i = 0; i < TILE_LEVELS; i++) { /* repeated: some lookups always take four bits */
        const float x = s->level[i & (n - 1)] * inverse - 2 * from;
        t->level[i] = (int8_t)(x < 0 ? x - 0.5f : x + 0.5f);
    }
}

static bool find_kind(tile16 *t, const ingot_code_shape *s) {
    if (s->bits == 8) {
        t->kind = TILE_LINEAR8;
        t->flip = s->level[0] == 0 ? 0 : 0x80;
        return s->level == ingot_levels_int8 || s->level == ingot_levels_centred(8);
    }
    if (s->bits == 4 && (s->level == ingot_levels_centred(4) || s->level == ingot_levels_plain())) {
        t->kind = TILE_LINEAR4;
        t->shift = s->level[0] + 8;
        return true;
    }
    if (s->bits < 2 || s->bits > 4) return false;
    t->kind = s->bits == 4 ? TILE_BOOK4 : s->bits == 3 ? TILE_BOOK3 : TILE_BOOK2;
    find_levels(t, s);
    return true;
}

bool tile16_make(tile16 *t, const ingot_kv_fmt *f) {
    const ingot_codec *codec = ingot_codec_get(f->codec);
    ingot_code_shape s;
    if (!codec->shape) return false;
    codec->shape(f, &s);
    if (s.unit == 0 || s.scale_kind != INGOT_SCALE_F16) return false;
    *t = (tile16){.bits = s.bits, .dim = f->dim, .group = s.token_stride ? f->dim : s.group, .has_offset = s.has_offset, .signed_scale = s.signed_scale, .unit = s.unit};
    if (!find_kind(t, &s)) return false;
    t->n_groups = (t->dim + t->group - 1) / t->group;
    t->tokens = s.token_stride ? ingot_codec_tokens(f) : 0;
    /* Units of V hold channels c and c + 16 under one scale, and the loops have room for that many groups. */
    if (t->group % 32 && t->group != t->dim) return false;
    if (t->bits < 4 && t->dim % 64) return false;
    if (t->signed_scale && t->kind != TILE_LINEAR4) return false;
    t->offsets = t->tokens ? (size_t)(TILE_TOKENS / t->tokens * t->dim) * 2 : (size_t)t->n_groups * 2 * TILE_TOKENS;
    t->codes = t->has_offset ? 2 * t->offsets : t->offsets;
    t->bytes = t->codes + (size_t)(t->dim * t->bits) * TILE_TOKENS / 8;
    return true;
}

bool tile16_has(const ingot_kv_fmt *f) {
    tile16 t;
    return f->codec == INGOT_CODEC_F16 || tile16_make(&t, f);
}

size_t tile16_bytes(const ingot_kv_fmt *f) {
    tile16 t;
    return tile16_make(&t, f) ? t.bytes : (size_t)f->dim * 2 * TILE_TOKENS;
}
