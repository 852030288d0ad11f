/* One table of cases for tiles and attention of the codecs with tuned layouts, run for every back end at every level of the machine against the
 * reference. Both sides hold the same canonical rows; attention must agree within the fixture's limits. */
#include "kv_fixture.h"

enum { F16 = INGOT_CODEC_F16, Q8 = INGOT_CODEC_Q8_0, I4 = INGOT_CODEC_INT4 };

typedef struct pair_case {
    int k, v, group, k_dim, v_dim, n_group, n_tokens, n_ctx;
    kv_view view;
} pair_case;

static const pair_case cases[] = {
    /* every pair of codecs, decode and prefill */
    {F16, F16, 0, 128, 128, 4, 1, 200, CAUSAL}, {F16, Q8, 0, 64, 64, 3, 1, 130, CAUSAL}, {F16, I4, 32, 128, 128, 4, 1, 200, CAUSAL},
    {Q8, F16, 0, 64, 64, 3, 1, 65, CAUSAL}, {Q8, Q8, 0, 128, 128, 4, 1, 200, CAUSAL}, {Q8, I4, 64, 128, 128, 4, 1, 200, CAUSAL},
    {I4, F16, 32, 128, 128, 4, 1, 200, CAUSAL}, {I4, Q8, 128, 128, 128, 4, 1, 200, CAUSAL}, {I4, I4, 32, 128, 128, 4, 1, 200, CAUSAL},
    {F16, F16, 0, 64, 64, 3, 64, 200, CAUSAL}, {F16, Q8, 0, 128, 64, 4, 64, 130, CAUSAL}, {F16, I4, 32, 64, 128, 1, 64, 64, CAUSAL},
    {Q8, F16, 0, 64, 64, 3, 40, 165, CAUSAL}, {Q8, Q8, 0, 64, 64, 3, 64, 200, CAUSAL}, {Q8, I4, 64, 64, 64, 3, 33, 100, CAUSAL},
    {I4, F16, 32, 64, 64, 3, 64, 200, CAUSAL}, {I4, Q8, 128, 128, 128, 2, 64, 200, CAUSAL}, {I4, I4, 32, 64, 64, 3, 64, 200, CAUSAL},
    /* group sizes, so every composition of row blocks */
    {I4, I4, 32, 64, 64, 1, 1, 300, CAUSAL}, {I4, I4, 32, 64, 64, 2, 1, 300, CAUSAL}, {I4, I4, 32, 64, 64, 3, 1, 300, CAUSAL},
    {I4, I4, 32, 64, 64, 7, 1, 300, CAUSAL}, {I4, I4, 32, 64, 64, 8, 1, 300, CAUSAL}, {I4, I4, 32, 64, 64, 16, 1, 300, CAUSAL},
    {I4, I4, 32, 64, 64, 5, 2, 300, CAUSAL}, {I4, I4, 32, 64, 64, 3, 5, 300, CAUSAL}, {I4, I4, 32, 64, 64, 6, 5, 300, CAUSAL},
    {F16, F16, 0, 64, 64, 1, 1, 300, CAUSAL}, {F16, F16, 0, 64, 64, 2, 1, 300, CAUSAL}, {F16, F16, 0, 64, 64, 7, 2, 300, CAUSAL},
    {F16, F16, 0, 64, 64, 8, 1, 300, CAUSAL}, {F16, F16, 0, 64, 64, 16, 1, 300, CAUSAL}, {Q8, Q8, 0, 64, 64, 7, 1, 300, CAUSAL},
    {Q8, Q8, 0, 64, 64, 1, 1, 300, CAUSAL}, {Q8, Q8, 0, 64, 64, 2, 1, 300, CAUSAL}, {Q8, Q8, 0, 64, 64, 16, 1, 300, CAUSAL},
    /* head sizes, also those that leave half a unit of 32 channels; K and V differ; groups that do not divide */
    {I4, I4, 32, 16, 16, 2, 1, 70, CAUSAL}, {I4, I4, 32, 80, 80, 4, 1, 150, CAUSAL}, {I4, I4, 64, 80, 112, 4, 1, 150, CAUSAL},
    {I4, I4, 128, 96, 80, 8, 1, 150, CAUSAL}, {I4, I4, 64, 112, 96, 1, 1, 150, CAUSAL}, {I4, I4, 128, 192, 128, 4, 1, 150, CAUSAL},
    {I4, I4, 32, 256, 256, 4, 1, 150, CAUSAL}, {I4, I4, 128, 256, 256, 8, 1, 150, CAUSAL}, {I4, I4, 32, 512, 512, 8, 1, 100, CAUSAL},
    {Q8, Q8, 0, 80, 80, 4, 1, 150, CAUSAL}, {Q8, Q8, 0, 16, 112, 3, 1, 150, CAUSAL}, {Q8, Q8, 0, 192, 128, 8, 1, 150, CAUSAL},
    {Q8, Q8, 0, 256, 256, 4, 1, 150, CAUSAL}, {Q8, Q8, 0, 512, 512, 1, 1, 100, CAUSAL}, {F16, F16, 0, 80, 80, 4, 1, 150, CAUSAL},
    {F16, F16, 0, 16, 112, 8, 1, 150, CAUSAL}, {F16, F16, 0, 192, 128, 2, 1, 150, CAUSAL}, {F16, F16, 0, 256, 256, 4, 1, 150, CAUSAL},
    {F16, F16, 0, 512, 512, 8, 1, 100, CAUSAL}, {I4, I4, 32, 80, 112, 2, 40, 150, CAUSAL}, {Q8, F16, 0, 112, 80, 2, 40, 150, CAUSAL},
    {I4, I4, 64, 256, 512, 1, 20, 100, CAUSAL}, {F16, Q8, 0, 96, 16, 3, 20, 100, CAUSAL},
    /* lengths around the page and block borders */
    {I4, I4, 32, 64, 64, 4, 1, 1, CAUSAL}, {I4, I4, 32, 64, 64, 4, 1, 15, CAUSAL}, {I4, I4, 32, 64, 64, 4, 1, 16, CAUSAL},
    {I4, I4, 32, 64, 64, 4, 1, 63, CAUSAL}, {I4, I4, 32, 64, 64, 4, 1, 64, CAUSAL}, {I4, I4, 32, 64, 64, 4, 1, 65, CAUSAL},
    {F16, F16, 0, 64, 64, 4, 1, 1, CAUSAL}, {Q8, Q8, 0, 64, 64, 4, 1, 17, CAUSAL}, {Q8, Q8, 0, 64, 64, 4, 64, 64, CAUSAL},
    /* groups that the tuned tiles do not take */
    {I4, I4, 16, 64, 64, 3, 1, 130, CAUSAL}, {I4, I4, 16, 80, 112, 2, 40, 130, CAUSAL}, {I4, F16, 16, 64, 64, 4, 1, 130, CAUSAL},
    /* windows and rows that see nothing */
    {I4, I4, 32, 64, 64, 4, 4, 300, WINDOW}, {I4, I4, 32, 64, 64, 4, 4, 300, RAGGED}, {Q8, Q8, 0, 64, 64, 3, 5, 300, WINDOW},
    {Q8, Q8, 0, 64, 64, 2, 7, 300, RAGGED}, {F16, F16, 0, 64, 64, 4, 4, 300, WINDOW}, {F16, F16, 0, 64, 64, 4, 4, 300, RAGGED},
    {I4, I4, 32, 64, 64, 2, 64, 300, WINDOW}, {I4, I4, 32, 64, 64, 2, 64, 300, RAGGED}, {F16, F16, 0, 64, 64, 1, 1, 300, WINDOW},
    {F16, F16, 0, 64, 64, 2, 64, 300, RAGGED}, {I4, F16, 32, 64, 64, 1, 1, 300, WINDOW}, {F16, I4, 32, 64, 64, 2, 8, 300, RAGGED},
};
enum { N_CASES = (int)(sizeof cases / sizeof cases[0]) };

/* Formats of tiles: every kind of unit and group. */
static const struct { int codec, group, dim; } formats[] = {
    {F16, 0, 16}, {F16, 0, 80}, {F16, 0, 128}, {F16, 0, 512}, {Q8, 0, 16}, {Q8, 0, 80}, {Q8, 0, 128}, {Q8, 0, 512},
    {I4, 16, 16}, {I4, 16, 64}, {I4, 16, 112}, {I4, 32, 64}, {I4, 32, 80}, {I4, 64, 80}, {I4, 80, 80}, {I4, 96, 96}, {I4, 64, 112}, {I4, 128, 192},
    {I4, 32, 128}, {I4, 128, 128}, {I4, 32, 256}, {I4, 128, 512},
    {INGOT_CODEC_INT2, 32, 64}, {INGOT_CODEC_INT2, 64, 128}, {INGOT_CODEC_INT2, 32, 80}, {INGOT_CODEC_INT3, 32, 64}, {INGOT_CODEC_INT3, 128, 128},
    {INGOT_CODEC_INT8, 32, 80}, {INGOT_CODEC_INT8, 64, 128}, {INGOT_CODEC_Q4_0, 0, 80}, {INGOT_CODEC_Q4_0, 0, 128}, {INGOT_CODEC_Q4_1, 0, 64},
    {INGOT_CODEC_TQ2, 0, 64}, {INGOT_CODEC_TQ3, 0, 64}, {INGOT_CODEC_TQ3, 0, 128}, {INGOT_CODEC_TQ4, 0, 80}, {INGOT_CODEC_TQ4, 0, 256},
};
enum { N_FORMATS = (int)(sizeof formats / sizeof formats[0]) };

/* Any bytes are a row: random ones go in and come out, one slot after the other, the others staying as they are. */
static void check_round_trip(const ingot_tile_ops *ops, const ingot_kv_fmt *f) {
    ingot_rng rng = {3};
    uint8_t rows[64][2 * INGOT_MAX_HEAD_DIM], got[2 * INGOT_MAX_HEAD_DIM], guard[KV_GUARD];
    const size_t n = ingot_codec_get(f->codec)->block_bytes(f);
    size_t bytes;
    uint8_t *tile = kv_tile_alloc(ops, f, &bytes);
    if (!tile) return;
    memset(guard, KV_GUARD_BYTE, KV_GUARD);
    CHECK_INT(bytes % 64, 0);
    CHECK_INT(bytes, 64 * n); /* not a bit more than the canonical rows */
    for (int i = 0; i < 64; i++) {
        const int slot = i * 29 % 64;
        for (size_t k = 0; k < n; k++) rows[slot][k] = (uint8_t)ingot_rng_next(&rng);
        ops->set_block(f, tile, slot, rows[slot]);
    }
    for (int slot = 0; slot < 64; slot++) {
        ops->get_block(f, tile, slot, got);
        CHECK_MEM(got, rows[slot], n);
    }
    CHECK_MEM(tile - KV_GUARD, guard, KV_GUARD);
    CHECK_MEM(tile + bytes, guard, KV_GUARD);
    kv_tile_free(tile);
}

static void round_trips(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    (void)ref;
    for (int i = 0; i < 2 * N_FORMATS; i++) {
        const ingot_kv_fmt f = kv_fmt(formats[i / 2].codec, i & 1 ? INGOT_SIDE_V : INGOT_SIDE_K, formats[i / 2].group, formats[i / 2].dim);
        test_case("%s/%s %s %s group %d dim %d", be->name, ingot_isa_name(isa), i & 1 ? "V" : "K", ingot_codec_get(f.codec)->name, f.group, f.dim);
        check_round_trip(ingot_backend_tile(be, i & 1, &f), &f);
    }
}

/* Values that codecs stumble over: zeros of both signs, constants, ties, numbers beyond a half and below it. */
static float odd_value(int kind, int i, ingot_rng *rng) {
    switch (kind) {
    case 0: return 0.f;
    case 1: return i & 1 ? -0.f : 0.f;
    case 2: return -1.25f;
    case 3: return (float)(i % 255 - 127) * 0.5f;
    case 4: return 1e30f * (float)ingot_rng_normal(rng);
    case 5: return 1e-7f * (float)ingot_rng_normal(rng);
    case 6: return 1e-42f * (float)(i - 8);
    case 7: return i % 32 == 5 ? 65519.f : -65504.f;
    case 8: return i % 16 == 3 ? 3e4f : (float)ingot_rng_normal(rng);
    case 9: return (float)(i % 16);
    default: return (float)ingot_rng_normal(rng);
    }
}

/* put in the middle of a tile full of other rows: its slots hold what the codec makes, the others what they held. */
static void check_put(const ingot_tile_ops *ops, const ingot_kv_fmt *f, int slot, int n) {
    ingot_rng rng = {5};
    enum { STRIDE = INGOT_MAX_HEAD_DIM + 3 };
    static float x[64 * STRIDE];
    uint8_t before[64][2 * INGOT_MAX_HEAD_DIM], want[2 * INGOT_MAX_HEAD_DIM], got[2 * INGOT_MAX_HEAD_DIM];
    size_t bytes;
    uint8_t *tile = kv_tile_alloc(ops, f, &bytes);
    if (!tile) return;
    for (int s = 0; s < 64; s++) ops->get_block(f, tile, s, before[s]);
    for (int t = 0; t < n; t++) for (int c = 0; c < f->dim; c++) x[t * STRIDE + c] = odd_value((slot + t) % 12, c, &rng);
    ops->put(f, tile, slot, n, x, STRIDE);
    for (int s = 0; s < 64; s++) {
        const bool inside = s >= slot && s < slot + n;
        if (inside) ingot_codec_get(f->codec)->encode(f, x + (s - slot) * STRIDE, STRIDE, 0, 1, want);
        ops->get_block(f, tile, s, got);
        if (!CHECK_MEM(got, inside ? want : before[s], ingot_codec_get(f->codec)->block_bytes(f))) break;
    }
    kv_tile_free(tile);
}

static void puts_exact(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    static const int runs[][2] = {{0, 64}, {0, 1}, {63, 1}, {7, 11}, {15, 2}, {16, 16}, {1, 62}};
    (void)ref;
    for (int i = 0; i < 2 * N_FORMATS; i++) {
        const ingot_kv_fmt f = kv_fmt(formats[i / 2].codec, i & 1 ? INGOT_SIDE_V : INGOT_SIDE_K, formats[i / 2].group, formats[i / 2].dim);
        for (int r = 0; r < 7; r++) {
            test_case("%s/%s %s %s group %d dim %d slots %d+%d", be->name, ingot_isa_name(isa), i & 1 ? "V" : "K", ingot_codec_get(f.codec)->name,
                      f.group, f.dim, runs[r][0], runs[r][1]);
            check_put(ingot_backend_tile(be, i & 1, &f), &f, runs[r][0], runs[r][1]);
        }
    }
}

/* --- states --- */

static void check_merge(const ingot_backend *ref, const ingot_backend *be, float ma, float la, float mb, float lb, int dim) {
    ingot_rng rng = {9};
    float oa[2][INGOT_MAX_HEAD_DIM], ob[INGOT_MAX_HEAD_DIM], out[2][INGOT_MAX_HEAD_DIM], m[2] = {ma, ma}, l[2] = {la, la};
    for (int i = 0; i < dim; i++) {
        oa[0][i] = oa[1][i] = la == 0 ? 0 : (float)ingot_rng_normal(&rng);
        ob[i] = lb == 0 ? 0 : (float)ingot_rng_normal(&rng);
    }
    ref->merge(&m[0], &l[0], oa[0], mb, lb, ob, dim);
    be->merge(&m[1], &l[1], oa[1], mb, lb, ob, dim);
    CHECK(m[1] == m[0]);
    CHECK_NEAR(l[1], l[0], 1e-6 * (double)l[0]);
    CHECK_NMSE(oa[1], oa[0], (size_t)dim, 1e-13);
    ref->normalize(oa[0], l[0], out[0], dim);
    be->normalize(oa[1], l[1], out[1], dim);
    CHECK_NMSE(out[1], out[0], (size_t)dim, 1e-13);
}

static void merges(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    static const float s[][4] = {{1, 2, 3, 4}, {3, 1, 1, 2}, {-INFINITY, 0, 2, 1}, {2, 1, -INFINITY, 0}, {-INFINITY, 0, -INFINITY, 0}, {-500, 1, 500, 1}};
    static const int dims[] = {16, 80, 128, 512};
    for (int i = 0; i < 24; i++) {
        const float *x = s[i / 4];
        test_case("%s/%s state %d dim %d", be->name, ingot_isa_name(isa), i / 4, dims[i % 4]);
        check_merge(ref, be, x[0], x[1], x[2], x[3], dims[i % 4]);
    }
}

static void attend_cases(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    for (int i = 0; i < N_CASES; i++) {
        const pair_case *p = &cases[i];
        const kv_case c = {.f = {kv_fmt(p->k, INGOT_SIDE_K, p->group, p->k_dim), kv_fmt(p->v, INGOT_SIDE_V, p->group, p->v_dim)},
                           .n_group = p->n_group, .n_tokens = p->n_tokens, .n_ctx = p->n_ctx, .view = p->view};
        kv_name_case(be, isa, &c);
        kv_run_case(ref, be, &c);
    }
}

TEST("kv/tiles hold canonical rows and nothing else") { kv_for_each_backend(round_trips); }

TEST("kv/put makes the codec's rows bit for bit and leaves the neighbours") { kv_for_each_backend(puts_exact); }

TEST("kv/states join and finish as in the reference, empty ones too") { kv_for_each_backend(merges); }

TEST("kv/attention over packed tiles agrees with the reference") { kv_for_each_backend(attend_cases); }
