/* put of formats whose blocks hold several tokens: the blocks that it touches are what the codec makes of its tokens alone, the others stay. */
#include "backend/cpu/tile_blocks.h"
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

/* The way that serves formats without an encoder, against the encoders of those that have one: the same bytes of the tile. */
static void puts_alike(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    static const int dims[] = {64, 80, 128};
    ingot_rng r = {9};
    if (be->attend == ref->attend) return;
    for (int i = 0; i < 2 * INGOT_N_CODECS * 3; i++) {
        const ingot_kv_fmt f = kv_fmt(i / 6, (ingot_kv_side)(i % 2), 0, dims[i / 2 % 3]);
        tile16 t;
        size_t bytes;
        if (!kv_fmt_allowed(&f) || !tile16_make(&t, &f)) continue;
        test_case("%s/%s %s %s dim %d", be->name, ingot_isa_name(isa), f.side ? "V" : "K", ingot_codec_get(f.codec)->name, f.dim);
        const ingot_tile_ops *ops = ingot_backend_tile(be, f.side, &f);
        uint8_t *want = kv_tile_alloc(ops, &f, &bytes), *got = kv_tile_alloc(ops, &f, &bytes);
        float *x = kv_random((size_t)PAGE * STRIDE, &r, 2.0f);
        if (!CHECK(want && got && x)) return;
        ops->put(&f, want, 3, 58, x + 3 * STRIDE, STRIDE);
        tile16_put_blocks(&f, got, 3, 58, x + 3 * STRIDE, STRIDE);
        CHECK_MEM(got, want, bytes);
        kv_tile_free(want), kv_tile_free(got), ingot_dealloc(x);
    }
}

TEST("kv/put by way of blocks makes the same tiles") { kv_for_each_backend(puts_alike); }
