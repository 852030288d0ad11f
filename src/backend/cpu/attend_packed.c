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

attend_plan ingot_attend_plan(void *scratch, const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    bump s = {scratch, 0};
    attend_plan p = {0};
    const size_t gk = (size_t)attend_groups(k), gv = (size_t)attend_groups(v);
    p.block = take(&s, (size_t)n_rows * sizeof *p.block);
    p.x = take(&s, BLOCK_ROWS * 64 * sizeof *p.x);
    p.p = take(&s, gv * BLOCK_ROWS * 32 * sizeof *p.p);
    for (int r = 0; r < n_rows;) {
        attend_block b = {.n = block_size(n_rows - r), .row0 = r};
        const size_t n = (size_t)b.n;
        b.q = take(&s, gk ? (size_t)k->dim / 4 * 2 * n * sizeof *b.q : 0);
        b.offset = take(&s, gk * n * sizeof *b.offset);
        b.q_sum = take(&s, gk * n * sizeof *b.q_sum);
        b.qf = take(&s, gk ? 0 : (size_t)k->dim * n * sizeof *b.qf);
        b.mid = take(&s, n * gv * 16 * sizeof *b.mid);
        if (scratch) p.block[p.n_blocks] = b;
        p.n_blocks++;
        r += b.n;
    }
    p.bytes = s.used;
    return p;
}

size_t ingot_attend_packed_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    return ingot_attend_plan(NULL, k, v, n_rows < PACKED_ROWS ? n_rows : PACKED_ROWS).bytes;
}
