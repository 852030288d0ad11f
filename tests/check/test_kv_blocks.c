/* put of formats whose blocks hold several tokens: the blocks that it touches are what the codec makes of its tokens alone, the others stay. */
#include "kv_fixture.h"
#include <ingot/types.h>
#include <stdlib.h>

enum { STRIDE = INGOT_MAX_HEAD_DIM + 5, PAGE = INGOT_PAGE_TOKENS };

static void check_put(const ingot_tile_ops *ops, const ingot_kv_fmt *f, int slot, int n, ingot_rng *r) {
    const ingot_codec *codec = ingot_codec_get(f->codec);
    const size_t block_bytes = codec->block_bytes(f);
    const int tokens = ingot_codec_tokens(f), end = slot + n;
    size_t bytes;
    uint8_t *tile = kv_tile_alloc(ops, f, &bytes), *want = malloc(block_bytes), *got = malloc(block_bytes);
    float *x = kv_random((size_t)PAGE * STRIDE, r, 2.0f);
    if (!CHECK(tile && want && got && x)) return;
    memset(tile, 0, bytes);
    ops->put(f, tile, slot, n, x + slot * STRIDE, STRIDE);
    for (int base = 0; base < PAGE; base += tokens) {
        const int from = slot > base ? slot - base : 0, to = end < base + tokens ? end - base : tokens;
        memset(want, 0, block_bytes);
        if (from < to) codec->encode(f, x + base * STRIDE, STRIDE, from, to - from, want);
        ops->get_block(f, tile, base, got);
        CHECK_MEM(got, want, block_bytes);
    }
    kv_tile_free(tile), free(want), free(got), ingot_dealloc(x);
}

static void puts_blocks(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    static const int runs[][2] = {{0, 64}, {0, 32}, {32, 32}, {0, 1}, {63, 1}, {20, 30}}, dims[] = {16, 64, 80, 128, 256, 512};
    ingot_rng r = {8};
    (void)ref;
    for (int codec = INGOT_CODEC_KIVI2; codec <= INGOT_CODEC_KIVI4; codec++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
                const ingot_kv_fmt f = kv_fmt(codec, INGOT_SIDE_K, i % 2 ? 64 : 32, dims[d]);
                test_case("%s/%s %s group %d dim %d slots %d+%d", be->name, ingot_isa_name(isa), ingot_codec_get(codec)->name, f.group, f.dim, runs[i][0], runs[i][1]);
                check_put(ingot_backend_tile(be, INGOT_SIDE_K, &f), &f, runs[i][0], runs[i][1], &r);
            }
}

TEST("kv/put makes whole blocks of several tokens bit for bit") { kv_for_each_backend(puts_blocks); }
