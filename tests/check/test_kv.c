/* One table of cases for tiles and attention, run for every back end at every level of the machine against the
 * reference. Both sides hold the same canonical rows; attention must agree within the limits of limit_of(). */
#include "backend/backend.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "test.h"

enum { F16 = INGOT_CODEC_F16, Q8 = INGOT_CODEC_Q8_0, I4 = INGOT_CODEC_INT4 };
/* What the queries see. CAUSAL: token t all up to its own position. WINDOW: the last part of that.
 * RAGGED: every third token nothing, the others from odd places on. */
typedef enum view { CAUSAL, WINDOW, RAGGED } view;

typedef struct kv_case {
    int k, v, group, k_dim, v_dim, n_group, n_tokens, n_ctx;
    view view;
} kv_case;

static const kv_case cases[] = {
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
    /* windows and rows that see nothing */
    {I4, I4, 32, 64, 64, 4, 4, 300, WINDOW}, {I4, I4, 32, 64, 64, 4, 4, 300, RAGGED}, {Q8, Q8, 0, 64, 64, 3, 5, 300, WINDOW},
    {Q8, Q8, 0, 64, 64, 2, 7, 300, RAGGED}, {F16, F16, 0, 64, 64, 4, 4, 300, WINDOW}, {F16, F16, 0, 64, 64, 4, 4, 300, RAGGED},
    {I4, I4, 32, 64, 64, 2, 64, 300, WINDOW}, {I4, I4, 32, 64, 64, 2, 64, 300, RAGGED}, {F16, F16, 0, 64, 64, 1, 1, 300, WINDOW},
    {F16, F16, 0, 64, 64, 2, 64, 300, RAGGED}, {I4, F16, 32, 64, 64, 1, 1, 300, WINDOW}, {F16, I4, 32, 64, 64, 2, 8, 300, RAGGED},
};
enum { N_CASES = (int)(sizeof cases / sizeof cases[0]), GUARD = 64, GUARD_BYTE = 0x5a };

/* Formats of tiles: every kind of unit and group. */
static const ingot_kv_fmt formats[] = {
    {F16, 0, 16}, {F16, 0, 80}, {F16, 0, 128}, {F16, 0, 512}, {Q8, 0, 16}, {Q8, 0, 80}, {Q8, 0, 128}, {Q8, 0, 512},
    {I4, 16, 16}, {I4, 32, 64}, {I4, 32, 80}, {I4, 64, 80}, {I4, 80, 80}, {I4, 96, 96}, {I4, 64, 112}, {I4, 128, 192},
    {I4, 32, 128}, {I4, 128, 128}, {I4, 32, 256}, {I4, 128, 512},
};
enum { N_FORMATS = (int)(sizeof formats / sizeof formats[0]) };

static const char *codec_name(int c) { return ingot_codec_get(c)->name; }

static ingot_kv_fmt fmt_of(int codec, int group, int dim) {
    return (ingot_kv_fmt){codec, codec == I4 ? (group < dim ? group : dim) : 0, dim};
}

/* Relative squared error of an output. Few rows (at most 16) on integer codecs run with 16-bit queries and weights, whose
 * rounding alone gives a relative error of 4e-5 (squared 2e-9); all else is float: errors of some 1e-6 from summing up to 512 products one after the other. */
static double limit_of(const kv_case *c) {
    const bool digits = (c->k != F16 || c->v != F16) && c->n_tokens * c->n_group <= 16;
    return digits ? 1e-7 : 1e-11;
}

/* --- storage --- */

typedef struct store {
    const ingot_backend *be;
    ingot_kv_fmt f[2];
    size_t bytes[2];
    uint8_t *mem;           /* pages of [guard][K tile][V tile][guard] */
    const uint8_t *tile[8]; /* K tiles */
    int n_pages;
} store;

static size_t page_bytes(const store *s) { return s->bytes[0] + s->bytes[1] + 2 * GUARD; }
static uint8_t *tile_of(const store *s, int side, int page) { return s->mem + (size_t)page * page_bytes(s) + GUARD + (side ? s->bytes[0] : 0); }

/* All bytes of the tiles are 0xff first: as halves NaN, so that a slot that was never written shows when it leaks. */
static bool store_make(store *s, const ingot_backend *be, const kv_case *c) {
    *s = (store){.be = be, .f = {fmt_of(c->k, c->group, c->k_dim), fmt_of(c->v, c->group, c->v_dim)}};
    for (int side = 0; side < 2; side++) s->bytes[side] = be->tile[side][s->f[side].codec].bytes(&s->f[side]);
    s->n_pages = (c->n_ctx + 63) / 64;
    s->mem = ingot_alloc(page_bytes(s) * (size_t)s->n_pages, INGOT_MEM_OTHER);
    if (!CHECK(s->mem != NULL) || !CHECK(s->n_pages <= 8)) return false;
    memset(s->mem, 0xff, page_bytes(s) * (size_t)s->n_pages);
    for (int p = 0; p < s->n_pages; p++) {
        memset(tile_of(s, 0, p) - GUARD, GUARD_BYTE, GUARD);
        memset(tile_of(s, 1, p) + s->bytes[1], GUARD_BYTE, GUARD);
        s->tile[p] = tile_of(s, 0, p);
    }
    return true;
}

static void check_guards(const store *s) {
    uint8_t want[GUARD];
    memset(want, GUARD_BYTE, GUARD);
    for (int p = 0; p < s->n_pages; p++) {
        CHECK_MEM(tile_of(s, 0, p) - GUARD, want, GUARD);
        CHECK_MEM(tile_of(s, 1, p) + s->bytes[1], want, GUARD);
    }
}

static float *random_floats(size_t n, ingot_rng *rng, float sigma) {
    float *x = ingot_alloc(n * sizeof *x, INGOT_MEM_OTHER);
    for (size_t i = 0; x && i < n; i++) x[i] = sigma * (float)ingot_rng_normal(rng);
    return x;
}

/* x [n_ctx][dim] into the tiles in runs of changing length, as prefill and decode make them. */
static void store_put(store *s, int side, const float *x, int n_ctx) {
    static const int runs[] = {1, 3, 16, 64, 5, 40, 2};
    const ingot_kv_fmt *f = &s->f[side];
    for (int p = 0, i = 0; p < n_ctx; i++) {
        int n = runs[i % 7];
        if (n > 64 - p % 64) n = 64 - p % 64;
        if (n > n_ctx - p) n = n_ctx - p;
        s->be->tile[side][f->codec].put(f, tile_of(s, side, p / 64), p % 64, n, x + (ptrdiff_t)p * f->dim, f->dim);
        p += n;
    }
}

/* The rows in the tiles are what the codec makes of x; they go into the other store as they are. */
static void store_copy(const store *s, store *to, int side, const float *x, int n_ctx) {
    const ingot_kv_fmt *f = &s->f[side];
    const ingot_codec *codec = ingot_codec_get(f->codec);
    uint8_t got[2 * INGOT_MAX_HEAD_DIM], want[2 * INGOT_MAX_HEAD_DIM];
    const size_t bytes = codec->row_bytes(f->dim, f->group);
    for (int p = 0; p < n_ctx; p++) {
        s->be->tile[side][f->codec].get_row(f, tile_of(s, side, p / 64), p % 64, got);
        codec->encode(x + (ptrdiff_t)p * f->dim, f->dim, f->group, want);
        if (!CHECK_MEM(got, want, bytes)) return;
        to->be->tile[side][f->codec].set_row(f, tile_of(to, side, p / 64), p % 64, got);
    }
}

/* --- attention --- */

typedef struct state { float *m, *l, *o, *out; int rows, dim; } state;

static state state_make(int rows, int dim) {
    state s = {.rows = rows, .dim = dim};
    s.m = ingot_alloc((size_t)rows * sizeof(float), INGOT_MEM_OTHER);
    s.l = ingot_alloc((size_t)rows * sizeof(float), INGOT_MEM_OTHER);
    s.o = ingot_alloc((size_t)rows * (size_t)dim * sizeof(float), INGOT_MEM_OTHER);
    s.out = ingot_alloc((size_t)rows * (size_t)dim * sizeof(float), INGOT_MEM_OTHER);
    for (int r = 0; r < rows; r++) s.m[r] = -INFINITY;
    return s;
}

static void state_free(state *s) {
    ingot_dealloc(s->m), ingot_dealloc(s->l), ingot_dealloc(s->o), ingot_dealloc(s->out);
}

static void ranges(const kv_case *c, int32_t *lo, int32_t *hi) {
    for (int t = 0; t < c->n_tokens; t++) {
        hi[t] = c->n_ctx - c->n_tokens + 1 + t;
        if (hi[t] < 1) hi[t] = 1;
        lo[t] = c->view == CAUSAL ? 0 : c->view == WINDOW ? (hi[t] > 70 ? hi[t] - 70 : 0) : (t * 37 + 5) % hi[t];
        if (c->view == RAGGED && t % 3 == 1) hi[t] = lo[t];
    }
}

/* In one call, or cut at `cut`: the state goes on. */
static void run_attend(const store *s, const kv_case *c, const float *q, float scale, int cut, state *st) {
    int32_t lo[64], hi[64], lo1[64], hi1[64];
    ingot_attend_args a = {.k = s->f[0], .v = s->f[1], .tiles = s->tile, .v_offset = s->bytes[0], .n_pages = s->n_pages, .q = q,
        .q_token_stride = (ptrdiff_t)c->n_group * c->k_dim + 16, .n_tokens = c->n_tokens, .n_group = c->n_group, .lo = lo, .hi = hi,
        .scale = scale, .m = st->m, .l = st->l, .o = st->o};
    a.scratch = ingot_alloc(s->be->attend_scratch_bytes(&a.k, &a.v, c->n_group, c->n_tokens), INGOT_MEM_OTHER);
    ranges(c, lo, hi);
    for (int t = 0; t < c->n_tokens && cut; t++) {
        lo1[t] = lo[t] > cut ? lo[t] : cut;
        hi1[t] = hi[t];
        if (hi[t] > cut) hi[t] = cut;
    }
    s->be->attend(&a);
    if (cut) {
        a.lo = lo1, a.hi = hi1;
        s->be->attend(&a);
    }
    for (int r = 0; r < st->rows; r++) s->be->normalize(st->o + (ptrdiff_t)r * st->dim, st->l[r], st->out + (ptrdiff_t)r * st->dim, st->dim);
    ingot_dealloc(a.scratch);
}

static void compare(const kv_case *c, const state *got, const state *want) {
    double worst = 0;
    for (int r = 0; r < want->rows; r++) {
        if (want->l[r] == 0) { /* saw nothing: the state is as it was */
            CHECK(got->l[r] == 0 && got->m[r] == -INFINITY);
            continue;
        }
        const double d = fabs((double)got->m[r] + log((double)got->l[r]) - (double)want->m[r] - log((double)want->l[r]));
        if (!(d <= worst)) worst = d;
    }
    CHECK_NEAR(worst, 0, limit_of(c) > 1e-10 ? 1e-3 : 2e-5);
    CHECK_NMSE(got->out, want->out, (size_t)want->rows * (size_t)want->dim, limit_of(c));
}

static void run_case(const ingot_backend *ref, const ingot_backend *be, const kv_case *c) {
    ingot_rng rng = {42};
    store a, b;
    if (!store_make(&a, be, c) || !store_make(&b, ref, c)) return;
    for (int side = 0; side < 2; side++) {
        float *x = random_floats((size_t)c->n_ctx * (size_t)a.f[side].dim, &rng, 1);
        store_put(&a, side, x, c->n_ctx);
        store_copy(&a, &b, side, x, c->n_ctx);
        ingot_dealloc(x);
    }
    check_guards(&a);
    const size_t q_floats = (size_t)c->n_tokens * ((size_t)c->n_group * (size_t)c->k_dim + 16);
    float *q = random_floats(q_floats, &rng, 2);
    const float scale = 1.f / sqrtf((float)c->k_dim);
    const int rows = c->n_tokens * c->n_group;
    state want = state_make(rows, c->v_dim);
    run_attend(&b, c, q, scale, 0, &want);
    for (int cut = 0; cut <= c->n_ctx / 2 && cut < 200; cut += c->n_ctx / 2 + (c->n_ctx < 2)) {
        state got = state_make(rows, c->v_dim);
        run_attend(&a, c, q, scale, cut, &got);
        compare(c, &got, &want);
        state_free(&got);
    }
    check_guards(&a);
    state_free(&want);
    ingot_dealloc(q), ingot_dealloc(a.mem), ingot_dealloc(b.mem);
}

static void name_case(const char *be, ingot_isa isa, const kv_case *c) {
    test_case("%s/%s k=%s v=%s group=%d dims %d,%d heads %d tokens %d ctx %d view %d", be, ingot_isa_name(isa), codec_name(c->k),
              codec_name(c->v), c->group, c->k_dim, c->v_dim, c->n_group, c->n_tokens, c->n_ctx, (int)c->view);
}

/* --- tiles --- */

static uint8_t *tile_alloc(const ingot_tile_ops *ops, const ingot_kv_fmt *f, size_t *bytes) {
    *bytes = ops->bytes(f);
    uint8_t *t = ingot_alloc(*bytes + 2 * GUARD, INGOT_MEM_OTHER);
    if (!CHECK(t != NULL)) return NULL;
    memset(t, GUARD_BYTE, *bytes + 2 * GUARD);
    return t + GUARD;
}

static void tile_free(uint8_t *tile) { ingot_dealloc(tile - GUARD); }

static size_t row_bytes_of(const ingot_kv_fmt *f) { return ingot_codec_get(f->codec)->row_bytes(f->dim, f->group); }

/* Any bytes are a row: random ones go in and come out, one slot after the other, the others staying as they are. */
static void check_round_trip(const ingot_tile_ops *ops, const ingot_kv_fmt *f) {
    ingot_rng rng = {3};
    uint8_t rows[64][2 * INGOT_MAX_HEAD_DIM], got[2 * INGOT_MAX_HEAD_DIM], guard[GUARD];
    const size_t n = row_bytes_of(f);
    size_t bytes;
    uint8_t *tile = tile_alloc(ops, f, &bytes);
    if (!tile) return;
    memset(guard, GUARD_BYTE, GUARD);
    CHECK_INT(bytes % 64, 0);
    CHECK_INT(bytes, 64 * n); /* not a bit more than the canonical rows */
    for (int i = 0; i < 64; i++) {
        const int slot = i * 29 % 64;
        for (size_t k = 0; k < n; k++) rows[slot][k] = (uint8_t)ingot_rng_next(&rng);
        ops->set_row(f, tile, slot, rows[slot]);
    }
    for (int slot = 0; slot < 64; slot++) {
        ops->get_row(f, tile, slot, got);
        CHECK_MEM(got, rows[slot], n);
    }
    CHECK_MEM(tile - GUARD, guard, GUARD);
    CHECK_MEM(tile + bytes, guard, GUARD);
    tile_free(tile);
}

static void round_trips(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    (void)ref;
    for (int i = 0; i < 2 * N_FORMATS; i++) {
        const ingot_kv_fmt *f = &formats[i / 2];
        test_case("%s/%s %s %s group %d dim %d", be->name, ingot_isa_name(isa), i & 1 ? "V" : "K", codec_name(f->codec), f->group, f->dim);
        check_round_trip(&be->tile[i & 1][f->codec], f);
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
    uint8_t *tile = tile_alloc(ops, f, &bytes);
    if (!tile) return;
    for (int s = 0; s < 64; s++) ops->get_row(f, tile, s, before[s]);
    for (int t = 0; t < n; t++) for (int c = 0; c < f->dim; c++) x[t * STRIDE + c] = odd_value((slot + t) % 12, c, &rng);
    ops->put(f, tile, slot, n, x, STRIDE);
    for (int s = 0; s < 64; s++) {
        const bool inside = s >= slot && s < slot + n;
        if (inside) ingot_codec_get(f->codec)->encode(x + (s - slot) * STRIDE, f->dim, f->group, want);
        ops->get_row(f, tile, s, got);
        if (!CHECK_MEM(got, inside ? want : before[s], row_bytes_of(f))) break;
    }
    tile_free(tile);
}

static void puts_exact(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    static const int runs[][2] = {{0, 64}, {0, 1}, {63, 1}, {7, 11}, {15, 2}, {16, 16}, {1, 62}};
    (void)ref;
    for (int i = 0; i < 2 * N_FORMATS; i++) {
        const ingot_kv_fmt *f = &formats[i / 2];
        for (int r = 0; r < 7; r++) {
            test_case("%s/%s %s %s group %d dim %d slots %d+%d", be->name, ingot_isa_name(isa), i & 1 ? "V" : "K", codec_name(f->codec),
                      f->group, f->dim, runs[r][0], runs[r][1]);
            check_put(&be->tile[i & 1][f->codec], f, runs[r][0], runs[r][1]);
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

/* fn for each back end but the reference, at each level up to the one in use. */
static void for_each_backend(void (*fn)(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa)) {
    const ingot_isa top = ingot_cpu_get()->isa;
    const ingot_backend *ref = ingot_backend_find("ref");
    for (int isa = INGOT_ISA_REF; isa <= (int)top; isa++) {
        if (!ingot_cpu_force((ingot_isa)isa)) continue;
        for (int i = 1; i < ingot_backend_count(); i++) fn(ref, ingot_backend_find(ingot_backend_name(i)), (ingot_isa)isa);
    }
    ingot_cpu_force(top);
}

static void attend_cases(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    for (int i = 0; i < N_CASES; i++) {
        name_case(be->name, isa, &cases[i]);
        run_case(ref, be, &cases[i]);
    }
}

TEST("kv/tiles hold canonical rows and nothing else") { for_each_backend(round_trips); }

TEST("kv/put makes the codec's rows bit for bit and leaves the neighbours") { for_each_backend(puts_exact); }

TEST("kv/states join and finish as in the reference, empty ones too") { for_each_backend(merges); }

TEST("kv/attention over packed tiles agrees with the reference") { for_each_backend(attend_cases); }
