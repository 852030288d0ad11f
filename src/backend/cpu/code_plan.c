#include "code_plan.h"
#include "../../base/half.h"

static bool is_linear(const float *level, int n) {
    const int base = level[0] >= -1024.f && level[0] <= 1024.f ? (int)level[0] : 0;
    for (int i = 0; i < n; i++) {
        if (level[i] != (float)(i + base)) return false;
    }
    return true;
}

/* FP8 E4M3 by the numbers: half floats with the exponent 8 lower. The codes of NaN, 0x7f and 0xff, may stand for anything finite. */
static bool is_e4m3(const float *level, int n) {
    for (int i = 0; i < n; i++) {
        const float x = ingot_f16_to_f32((uint16_t)((i & 0x80) << 8 | (i & 0x7f) << 7)) * 256.f;
        if (n != 256 || level[i] != x) return false;
    }
    return true;
}

static bool readable(const ingot_kv_fmt *f, const ingot_code_shape *s, int block_bytes, int tokens) {
    if (s->bits < 1 || s->bits > 8 || block_bytes < 4) return false;
    if (s->order == INGOT_ORDER_HALVES) return tokens == 1 && s->bits == 4 && s->group == 32 && f->dim % 32 == 0;
    if (s->token_stride) return tokens % 16 == 0 && s->has_offset && s->order == INGOT_ORDER_LSB && s->code_at + s->token_stride >= 4 && f->side == INGOT_SIDE_K;
    return tokens == 1 && s->group % 16 == 0;
}

bool ingot_code_plan(const ingot_kv_fmt *f, code_plan *p) {
    const ingot_codec *codec = ingot_codec_get(f->codec);
    if (!codec->shape) return false;
    codec->shape(f, &p->s);
    p->block_bytes = (int)codec->block_bytes(f);
    p->tokens = ingot_codec_tokens(f);
    if (!readable(f, &p->s, p->block_bytes, p->tokens)) return false;
    const int bits = p->s.bits, n = 1 << bits;
    p->kind = bits <= 3 ? CODE_TABLE_8 : bits == 4 ? CODE_TABLE_16 : bits == 5 ? CODE_TABLE_32 : bits == 6 ? CODE_TABLE_64 : CODE_ANY;
    if (p->kind != CODE_ANY) {
        for (int i = 0; i < 64; i++) p->table[i] = p->s.level[i & (n - 1)];
    } else if (is_linear(p->s.level, n)) {
        p->kind = CODE_LINEAR;
        p->base = (int)p->s.level[0];
    } else if (is_e4m3(p->s.level, n)) {
        p->kind = CODE_E4M3;
    }
    return true;
}
