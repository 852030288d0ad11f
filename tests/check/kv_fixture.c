#include "kv_fixture.h"
#include "backend/cpu/tile16.h"

enum { F16 = INGOT_CODEC_F16, Q8 = INGOT_CODEC_Q8_0, I4 = INGOT_CODEC_INT4, MAX_PAGES = 8 };

/* --- formats --- */

/* Random centroids for a format, made when first asked for and kept. */
static const ingot_codec_params *random_params(const ingot_kv_fmt *f) {
    enum { MOST = 16 };
    static ingot_kv_fmt of[MOST];
    static ingot_codec_params params[MOST];
    static int n;
    const size_t floats = (size_t)f->group << ingot_codec_get(f->codec)->code_bits;
    for (int i = 0; i < n; i++) {
        if (of[i].codec == f->codec && of[i].group == f->group) return &params[i];
    }
    ingot_rng rng = {12};
    float *book = kv_random(floats, &rng, 1);
    void *memory = ingot_alloc(ingot_codec_params_bytes(f), INGOT_MEM_OTHER);
    if (!CHECK(n < MOST && book && memory) || !CHECK(ingot_codec_params_fill(f, book, memory, &params[n]) == NULL)) return NULL;
    of[n] = *f;
    return &params[n++];
}

ingot_kv_fmt kv_fmt(int codec, ingot_kv_side side, int group, int dim) {
    const ingot_codec *c = ingot_codec_get(codec);
    ingot_kv_fmt f = {.codec = codec, .dim = dim, .side = side, .variant = c->default_variant[side]};
    if (c->default_group) {
        f.group = group ? group : c->default_group;
        if (f.group > dim && !(c->group_is_tokens && side == INGOT_SIDE_K)) f.group = dim;
    }
    if (c->code_bits && c->check(&f) == NULL) f.params = random_params(&f);
    return f;
}

bool kv_fmt_allowed(const ingot_kv_fmt *f) {
    const ingot_codec *c = ingot_codec_get(f->codec);
    return (c->sides >> f->side & 1) && c->check(f) == NULL;
}

bool kv_is_integer_pair(const kv_case *c) {
    return tile16_has(&c->f[0]) && tile16_has(&c->f[1]) && (c->f[0].codec != F16 || c->f[1].codec != F16);
}

/* Relative squared error of an output. Few rows (at most 16) on the integer codecs run with 16-bit queries and weights, whose
 * rounding alone gives a relative error of 4e-5 (squared 2e-9), or where that is enough with 8 bits: 1.4e-2 (2e-4); all else is float: errors of some 1e-6
 * from summing up to 512 products one after the other. */
static double limit_of(const kv_case *c) {
    if (!kv_is_integer_pair(c) || c->n_tokens * c->n_group > 16) return 1e-11;
    return c->fast ? 1e-3 : 1e-7;
}

/* --- storage --- */

typedef struct store {
    const ingot_backend *be;
    ingot_kv_fmt f[2];
    size_t bytes[2];
    uint8_t *mem;                   /* pages of [guard][K tile][V tile][guard] */
    const uint8_t *tile[MAX_PAGES]; /* K tiles */
    int n_pages;
} store;

static size_t page_bytes(const store *s) { return s->bytes[0] + s->bytes[1] + 2 * KV_GUARD; }
static uint8_t *tile_of(const store *s, int side, int page) { return s->mem + (size_t)page * page_bytes(s) + KV_GUARD + (side ? s->bytes[0] : 0); }

/* All bytes of the tiles are 0xff first: as halves NaN, so that a slot that was never written shows when it leaks. */
static bool store_make(store *s, const ingot_backend *be, const kv_case *c) {
    *s = (store){.be = be, .f = {c->f[0], c->f[1]}};
    for (int side = 0; side < 2; side++) s->bytes[side] = ingot_backend_tile(be, side, &s->f[side])->bytes(&s->f[side]);
    s->n_pages = (c->n_ctx + 63) / 64;
    s->mem = ingot_alloc(page_bytes(s) * (size_t)s->n_pages, INGOT_MEM_OTHER);
    if (!CHECK(s->mem != NULL) || !CHECK(s->n_pages <= MAX_PAGES)) return false;
    memset(s->mem, 0xff, page_bytes(s) * (size_t)s->n_pages);
    for (int p = 0; p < s->n_pages; p++) {
        memset(tile_of(s, 0, p) - KV_GUARD, KV_GUARD_BYTE, KV_GUARD);
        memset(tile_of(s, 1, p) + s->bytes[1], KV_GUARD_BYTE, KV_GUARD);
        s->tile[p] = tile_of(s, 0, p);
    }
    return true;
}

static void check_guards(const store *s) {
    uint8_t want[KV_GUARD];
    memset(want, KV_GUARD_BYTE, KV_GUARD);
    for (int p = 0; p < s->n_pages; p++) {
        CHECK_MEM(tile_of(s, 0, p) - KV_GUARD, want, KV_GUARD);
        CHECK_MEM(tile_of(s, 1, p) + s->bytes[1], want, KV_GUARD);
    }
}

float *kv_random(size_t n, ingot_rng *rng, float sigma) {
    float *x = ingot_alloc(n * sizeof *x, INGOT_MEM_OTHER);
    for (size_t i = 0; x && i < n; i++) x[i] = sigma * (float)ingot_rng_normal(rng);
    return x;
}

static int smaller(int a, int b) { return a < b ? a : b; }

/* x [n_ctx][dim] into the tiles in runs of changing length, as prefill and decode make them; blocks of several tokens whole, but for the first and last. */
static void store_put(store *s, int side, const float *x, const kv_case *c) {
    static const int runs[] = {1, 3, 16, 64, 5, 40, 2};
    const ingot_kv_fmt *f = &s->f[side];
    const int tokens = ingot_codec_tokens(f);
    for (int p = c->first, i = 0; p < c->n_ctx; i++) {
        const int page_end = (p / 64 + 1) * 64, want = (p + runs[i % 7] + tokens - 1) / tokens * tokens, end = smaller(smaller(want, page_end), c->n_ctx);
        ingot_backend_tile(s->be, side, f)->put(f, tile_of(s, side, p / 64), p % 64, end - p, x + (ptrdiff_t)p * f->dim, f->dim);
        p = end;
    }
}

/* The blocks in the tiles are what the codec makes of x; they go into the other store as they are. */
static void store_copy(const store *s, store *to, int side, const float *x, const kv_case *c) {
    const ingot_kv_fmt *f = &s->f[side];
    const ingot_codec *codec = ingot_codec_get(f->codec);
    const int tokens = ingot_codec_tokens(f);
    const size_t bytes = codec->block_bytes(f);
    uint8_t *got = ingot_alloc(bytes, INGOT_MEM_OTHER), *want = ingot_alloc(bytes, INGOT_MEM_OTHER);
    for (int p = c->first / tokens * tokens; p < c->n_ctx; p += tokens) {
        const int from = p < c->first ? c->first - p : 0, end = smaller(tokens, c->n_ctx - p);
        ingot_backend_tile(s->be, side, f)->get_block(f, tile_of(s, side, p / 64), p % 64, got);
        codec->encode(f, x + (ptrdiff_t)p * f->dim, f->dim, from, end - from, want);
        if (!CHECK_MEM(got, want, bytes)) break;
        ingot_backend_tile(to->be, side, f)->set_block(f, tile_of(to, side, p / 64), p % 64, got);
    }
    ingot_dealloc(got), ingot_dealloc(want);
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
        if (hi[t] < c->first + 1) hi[t] = c->first + 1;
        lo[t] = c->view == CAUSAL ? 0 : c->view == WINDOW ? (hi[t] > 70 ? hi[t] - 70 : 0) : (t * 37 + 5) % hi[t];
        if (lo[t] < c->first) lo[t] = c->first;
        if (c->view == RAGGED && t % 3 == 1) hi[t] = lo[t];
    }
}

/* In one call, or cut at `cut`: the state goes on. The scratch has guards too. */
static void run_attend(const store *s, const kv_case *c, const float *q, float scale, int cut, state *st) {
    int32_t lo[64], hi[64], lo1[64], hi1[64];
    uint8_t want[KV_GUARD];
    const size_t scratch = s->be->attend_scratch_bytes(&c->f[0], &c->f[1], c->n_group, c->n_tokens);
    ingot_attend_args a = {.k = s->f[0], .v = s->f[1], .tiles = s->tile, .v_offset = s->bytes[0], .n_pages = s->n_pages, .q = q,
        .q_token_stride = (ptrdiff_t)c->n_group * c->f[0].dim + 16, .n_tokens = c->n_tokens, .n_group = c->n_group, .lo = lo, .hi = hi,
        .scale = scale, .fast = c->fast, .m = st->m, .l = st->l, .o = st->o};
    a.scratch = ingot_alloc(scratch + KV_GUARD, INGOT_MEM_OTHER);
    if (!CHECK(a.scratch != NULL)) return;
    memset(a.scratch, KV_GUARD_BYTE, scratch + KV_GUARD);
    memset(want, KV_GUARD_BYTE, sizeof want);
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
    CHECK_MEM((uint8_t *)a.scratch + scratch, want, KV_GUARD);
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
    CHECK_NEAR(worst, 0, limit_of(c) > 1e-5 ? 5e-2 : limit_of(c) > 1e-10 ? 1e-3 : 2e-5);
    CHECK_NMSE(got->out, want->out, (size_t)want->rows * (size_t)want->dim, limit_of(c));
}

void kv_run_case(const ingot_backend *ref, const ingot_backend *be, const kv_case *c) {
    ingot_rng rng = {42};
    store a, b;
    if (!store_make(&a, be, c) || !store_make(&b, ref, c)) return;
    for (int side = 0; side < 2; side++) {
        float *x = kv_random((size_t)c->n_ctx * (size_t)a.f[side].dim, &rng, 1);
        store_put(&a, side, x, c);
        store_copy(&a, &b, side, x, c);
        ingot_dealloc(x);
    }
    check_guards(&a);
    const size_t q_floats = (size_t)c->n_tokens * ((size_t)c->n_group * (size_t)c->f[0].dim + 16);
    float *q = kv_random(q_floats, &rng, 2);
    const float scale = 1.f / sqrtf((float)c->f[0].dim);
    const int rows = c->n_tokens * c->n_group, dim = c->f[1].dim;
    state want = state_make(rows, dim);
    run_attend(&b, c, q, scale, 0, &want);
    for (int cut = 0; cut <= c->n_ctx / 2 && cut < 200; cut += c->n_ctx / 2 + (c->n_ctx < 2)) {
        state got = state_make(rows, dim);
        run_attend(&a, c, q, scale, cut, &got);
        compare(c, &got, &want);
        state_free(&got);
    }
    check_guards(&a);
    state_free(&want);
    ingot_dealloc(q), ingot_dealloc(a.mem), ingot_dealloc(b.mem);
}

void kv_name_case(const ingot_backend *be, ingot_isa isa, const kv_case *c) {
    test_case("%s/%s k=%s v=%s groups %d,%d dims %d,%d heads %d tokens %d ctx %d-%d view %d%s", be->name, ingot_isa_name(isa), ingot_codec_get(c->f[0].codec)->name,
              ingot_codec_get(c->f[1].codec)->name, c->f[0].group, c->f[1].group, c->f[0].dim, c->f[1].dim, c->n_group, c->n_tokens, c->first, c->n_ctx, (int)c->view, c->fast ? " fast" : "");
}

/* --- tiles --- */

uint8_t *kv_tile_alloc(const ingot_tile_ops *ops, const ingot_kv_fmt *f, size_t *bytes) {
    *bytes = ops->bytes(f);
    uint8_t *t = ingot_alloc(*bytes + 2 * KV_GUARD, INGOT_MEM_OTHER);
    if (!CHECK(t != NULL)) return NULL;
    memset(t, KV_GUARD_BYTE, *bytes + 2 * KV_GUARD);
    return t + KV_GUARD;
}

void kv_tile_free(uint8_t *tile) { ingot_dealloc(tile - KV_GUARD); }

void kv_for_each_backend(void (*fn)(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa)) {
    const ingot_isa top = ingot_cpu_get()->isa;
    const ingot_backend *ref = ingot_backend_find("ref");
    for (int isa = INGOT_ISA_REF; isa <= (int)top; isa++) {
        if (!ingot_cpu_force((ingot_isa)isa)) continue;
        for (int i = 1; i < ingot_backend_count(); i++) fn(ref, ingot_backend_find(ingot_backend_name(i)), (ingot_isa)isa);
    }
    ingot_cpu_force(top);
}
