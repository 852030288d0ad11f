/* Scratch of the packed attention: which blocks a call's rows make, and where their buffers lie. */
#include "attend_packed.h"

/* Hands out 64-byte aligned parts of `base`, or only counts when it is NULL. */
typedef struct bump { uint8_t *base; size_t used; } bump;

static void *take(bump *s, size_t bytes) {
    void *p = s->base ? s->base + s->used : NULL;
    s->used += (bytes + 63) & ~(size_t)63;
    return p;
}

/* The largest part of `rows` left that is a block. */
static int block_size(int rows) { return rows >= 8 ? 8 : rows >= 4 ? 4 : rows; }

static int kind_of(tile16 *t, const ingot_kv_fmt *f) {
    *t = (tile16){0};
    return f->codec == INGOT_CODEC_F16 ? ATTEND_F16 : tile16_make(t, f) ? (int)t->kind : -1;
}

bool ingot_attend_call(attend_call *c, void *scratch, const ingot_attend_args *a, const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    bump s = {scratch, 0};
    c->a = a;
    c->digits = 2;
    c->n_blocks = 0;
    c->k_kind = kind_of(&c->k, k);
    c->v_kind = kind_of(&c->v, v);
    if (c->k_kind < 0 || c->v_kind < 0) return false;
    const size_t gk = (size_t)c->k.n_groups, gv = (size_t)c->v.n_groups, largest = (size_t)block_size(n_rows);
    const size_t quads = (size_t)k->dim / 4 * 2 * sizeof(int32_t), per_channel = (size_t)k->dim * sizeof(float);
    c->block = take(&s, (size_t)n_rows * sizeof *c->block);
    c->x = take(&s, BLOCK_ROWS * 64 * sizeof *c->x);
    c->p = take(&s, gv * BLOCK_ROWS * 32 * sizeof *c->p);
    for (int i = 0; c->k.tokens && i < 2; i++) c->scaled_q[i] = take(&s, quads * largest);
    for (int r = 0; r < n_rows;) {
        attend_block b = {.n = block_size(n_rows - r), .row0 = r};
        const size_t n = (size_t)b.n;
        b.q = take(&s, gk && !c->k.tokens ? quads * n : 0);
        b.offset = take(&s, gk * n * sizeof *b.offset);
        b.q_sum = take(&s, gk * n * sizeof *b.q_sum);
        b.qf = take(&s, gk && !c->k.tokens ? 0 : per_channel * n);
        b.mid = take(&s, n * gv * 16 * sizeof *b.mid);
        if (scratch) c->block[c->n_blocks] = b;
        c->n_blocks++;
        r += b.n;
    }
    c->bytes = s.used;
    return true;
}

size_t ingot_attend_packed_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    attend_call c;
    return ingot_attend_call(&c, NULL, NULL, k, v, n_rows < PACKED_ROWS ? n_rows : PACKED_ROWS) ? c.bytes : 0;
}
