/* Every codec of the registry, alone and beside others, on every back end and level against the reference: attention within rounding, decoding bit for bit. */
#include "backend/cpu/code_plan.h"
#include "backend/cpu/tile16.h"
#include "codec/shape.h"
#include "kv_fixture.h"

enum { F16 = INGOT_CODEC_F16, I4 = INGOT_CODEC_INT4, SELF = -1 };

/* Each codec runs on all of these, as `codec` on the side that says SELF. Where it cannot, the case is left out. */
static const struct { int k, v, dim, n_group, n_tokens, first, n_ctx; kv_view view; } setups[] = {
    {SELF, SELF, 64, 3, 1, 0, 130, CAUSAL}, {SELF, SELF, 128, 4, 1, 0, 150, CAUSAL}, {SELF, SELF, 80, 1, 1, 0, 70, CAUSAL},
    {SELF, SELF, 256, 8, 1, 0, 70, CAUSAL}, {SELF, SELF, 64, 1, 40, 0, 129, CAUSAL}, {SELF, SELF, 80, 3, 40, 0, 66, CAUSAL},
    {SELF, SELF, 128, 1, 40, 0, 96, WINDOW}, {SELF, SELF, 64, 4, 3, 5, 150, RAGGED}, {SELF, SELF, 64, 8, 1, 37, 192, WINDOW},
    {SELF, SELF, 64, 2, 20, 70, 150, RAGGED}, {SELF, F16, 64, 3, 1, 0, 100, CAUSAL}, {F16, SELF, 64, 3, 1, 0, 100, CAUSAL},
    {SELF, I4, 128, 4, 1, 0, 100, CAUSAL}, {I4, SELF, 80, 1, 1, 3, 100, CAUSAL}, {SELF, I4, 64, 1, 40, 0, 70, CAUSAL},
    {F16, SELF, 64, 3, 40, 0, 70, CAUSAL}, {SELF, SELF, 16, 1, 1, 0, 65, CAUSAL}, {SELF, SELF, 512, 1, 1, 0, 33, CAUSAL},
};
enum { N_SETUPS = (int)(sizeof setups / sizeof setups[0]) };

/* The next smaller group that there is, for the second round of codecs with the option. */
static int other_group(int codec, int round) {
    const ingot_codec *c = ingot_codec_get(codec);
    int n = 0;
    while (c->groups && c->groups[n]) n++;
    return n ? c->groups[round % n] : 0;
}

static void attend_cases(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    if (be->attend == ref->attend) return; /* nothing of its own at this level */
    for (int codec = 0; codec < INGOT_N_CODECS; codec++) {
        for (int i = 0; i < N_SETUPS; i++) {
            const int k = setups[i].k == SELF ? codec : setups[i].k, v = setups[i].v == SELF ? codec : setups[i].v, group = i % 2 ? other_group(codec, i / 2) : 0;
            kv_case c = {.f = {kv_fmt(k, INGOT_SIDE_K, k == codec ? group : 0, setups[i].dim), kv_fmt(v, INGOT_SIDE_V, v == codec ? group : 0, setups[i].dim)},
                         .n_group = setups[i].n_group, .n_tokens = setups[i].n_tokens, .first = setups[i].first, .n_ctx = setups[i].n_ctx, .view = setups[i].view};
            c.f[0].adjacent_pairs = i % 3 == 0;
            for (int side = 0; side < 2; side++) {
                if (!kv_fmt_allowed(&c.f[side]) && c.f[!side].codec == codec) c.f[side] = kv_fmt(F16, (ingot_kv_side)side, 0, setups[i].dim);
            }
            if (!kv_fmt_allowed(&c.f[0]) || !kv_fmt_allowed(&c.f[1])) continue;
            for (int fast = 0; fast < (kv_is_integer_pair(&c) ? 2 : 1); fast++) {
                c.fast = fast;
                kv_name_case(be, isa, &c);
                kv_run_case(ref, be, &c);
            }
        }
    }
}

/* --- decoding --- */

/* Ordinary vectors, and some that codecs stumble over. */
static void odd_vector(float *x, int token, int dim, ingot_rng *rng) {
    for (int i = 0; i < dim; i++) {
        const float g = (float)ingot_rng_normal(rng);
        x[i] = token % 16 == 3 ? 0.f : token % 16 == 5 ? -1.25f : token % 16 == 7 ? 3e4f * g : token % 16 == 9 ? 1e-6f * g : i % 17 == 4 ? 20 * g : g;
    }
}

typedef struct page {
    ingot_kv_fmt f[2];
    uint8_t *tiles;       /* K tile, V tile */
    size_t v_offset;
    float *decoded[2];    /* [64][dim] by the codec's decode */
    void *scratch;
} page;

static bool page_make(page *p, const ingot_backend *be, const ingot_kv_fmt *k, const ingot_kv_fmt *v) {
    *p = (page){.f = {*k, *v}};
    ingot_rng rng = {17};
    const ingot_tile_ops *ops[2] = {ingot_backend_tile(be, 0, k), ingot_backend_tile(be, 1, v)};
    p->v_offset = ops[0]->bytes(k);
    p->tiles = ingot_alloc(p->v_offset + ops[1]->bytes(v), INGOT_MEM_OTHER);
    p->scratch = ingot_alloc(be->attend_scratch_bytes(k, v, 1, 64), INGOT_MEM_OTHER);
    if (!CHECK(p->tiles && p->scratch)) return false;
    for (int side = 0; side < 2; side++) {
        const ingot_kv_fmt *f = &p->f[side];
        const int tokens = ingot_codec_tokens(f);
        float *x = ingot_alloc(64 * (size_t)f->dim * sizeof *x, INGOT_MEM_OTHER);
        uint8_t *block = ingot_alloc(ingot_codec_get(f->codec)->block_bytes(f), INGOT_MEM_OTHER);
        p->decoded[side] = ingot_alloc(64 * (size_t)f->dim * sizeof *x, INGOT_MEM_OTHER);
        for (int t = 0; t < 64; t++) odd_vector(x + (ptrdiff_t)t * f->dim, t, f->dim, &rng);
        ops[side]->put(f, p->tiles + (side ? p->v_offset : 0), 0, 64, x, f->dim);
        for (int t = 0; t < 64; t += tokens) {
            ops[side]->get_block(f, p->tiles + (side ? p->v_offset : 0), t, block);
            ingot_codec_get(f->codec)->decode(f, block, p->decoded[side] + (ptrdiff_t)t * f->dim);
        }
        ingot_dealloc(x), ingot_dealloc(block);
    }
    return true;
}

static void page_free(page *p) {
    ingot_dealloc(p->tiles), ingot_dealloc(p->scratch), ingot_dealloc(p->decoded[0]), ingot_dealloc(p->decoded[1]);
}

/* 64 queries, of which query t sees token t alone: its output is that token's value, and with a unit vector of channel c for a query its
 * maximum is that element of the key. Nothing is rounded on the way. */
static void attend_alone(const ingot_backend *be, const page *p, int c, float *m, float *l, float *o) {
    const int dim = p->f[0].dim;
    const uint8_t *tile = p->tiles;
    int32_t lo[64], hi[64];
    float *q = ingot_alloc(64 * (size_t)dim * sizeof *q, INGOT_MEM_OTHER);
    for (int t = 0; t < 64; t++) q[(ptrdiff_t)t * dim + c] = 1, lo[t] = t, hi[t] = t + 1, m[t] = -INFINITY, l[t] = 0;
    memset(o, 0, 64 * (size_t)p->f[1].dim * sizeof *o);
    const ingot_attend_args a = {.k = p->f[0], .v = p->f[1], .tiles = &tile, .v_offset = p->v_offset, .n_pages = 1, .q = q, .q_token_stride = dim, .n_tokens = 64,
                                 .n_group = 1, .lo = lo, .hi = hi, .scale = 1, .m = m, .l = l, .o = o, .scratch = p->scratch};
    be->attend(&a);
    ingot_dealloc(q);
}

static void check_decoding(const ingot_backend *be, const ingot_kv_fmt *k, const ingot_kv_fmt *v) {
    page p;
    float m[64], l[64], *o = ingot_alloc(64 * (size_t)v->dim * sizeof *o, INGOT_MEM_OTHER);
    if (page_make(&p, be, k, v)) {
        for (int c = 0; c < k->dim; c += k->dim <= 80 ? 1 : 5) {
            attend_alone(be, &p, c, m, l, o);
            int wrong = 0;
            for (int t = 0; t < 64; t++) wrong += m[t] != p.decoded[0][(ptrdiff_t)t * k->dim + c];
            if (!CHECK_INT(wrong, 0)) break;
        }
        int wrong = 0;
        for (int i = 0; i < 64 * v->dim; i++) wrong += o[i] != p.decoded[1][i];
        CHECK_INT(wrong, 0);
        page_free(&p);
    }
    ingot_dealloc(o);
}

static void decodings(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    static const int dims[] = {16, 64, 80, 96, 128, 256};
    if (be->attend == ref->attend) return;
    for (int codec = 0; codec < INGOT_N_CODECS; codec++) {
        for (int i = 0; i < 12; i++) {
            const int dim = dims[i / 2], group = i % 2 ? other_group(codec, i / 2) : 0;
            ingot_kv_fmt k = kv_fmt(codec, INGOT_SIDE_K, group, dim), v = kv_fmt(codec, INGOT_SIDE_V, group, dim);
            k.adjacent_pairs = i % 4 < 2;
            if ((i % 2 && !group) || ingot_codec_get(codec)->narrow) continue; /* a wide frame adds in another order than decode */
            if (!kv_fmt_allowed(&k)) k = kv_fmt(F16, INGOT_SIDE_K, 0, dim);
            if (!kv_fmt_allowed(&v)) v = kv_fmt(F16, INGOT_SIDE_V, 0, dim);
            test_case("%s/%s %s groups %d,%d dim %d", be->name, ingot_isa_name(isa), ingot_codec_get(codec)->name, k.group, v.group, dim);
            check_decoding(be, &k, &v);
        }
    }
}

/* --- extremes --- */

/* 64 tokens of one ordinary vector's scales, all codes being `code`. */
static void extreme_tile(const ingot_backend *be, const ingot_kv_fmt *f, int code, uint8_t *tile) {
    const ingot_codec *codec = ingot_codec_get(f->codec);
    const ingot_tile_ops *ops = ingot_backend_tile(be, f->side, f);
    const int tokens = ingot_codec_tokens(f);
    uint8_t *block = ingot_alloc(codec->block_bytes(f), INGOT_MEM_OTHER), codes[INGOT_MAX_HEAD_DIM];
    ingot_rng rng = {23};
    float *x = kv_random((size_t)tokens * (size_t)f->dim, &rng, 1);
    ingot_code_shape s;
    codec->shape(f, &s);
    memset(codes, code & ((1 << s.bits) - 1), sizeof codes);
    for (int t = 1; t < tokens; t++) memcpy(x + (ptrdiff_t)t * f->dim, x, (size_t)f->dim * sizeof *x);
    codec->encode(f, x, f->dim, 0, tokens, block);
    for (int t = 0; t < tokens; t++) ingot_shape_set_codes(&s, f, codes, t, block);
    for (int t = 0; t < 64; t += tokens) ops->set_block(f, tile, t, block);
    ingot_dealloc(x), ingot_dealloc(block);
}

/* Four rows whose queries are 1 in all channels, or -1: maxima m and outputs o. */
static void attend_extreme(const ingot_backend *be, const ingot_kv_fmt f[2], int code, bool fast, float *m, float *o) {
    const int dim = f[0].dim;
    const size_t k_bytes = ingot_backend_tile(be, 0, &f[0])->bytes(&f[0]);
    uint8_t *page = ingot_alloc(k_bytes + ingot_backend_tile(be, 1, &f[1])->bytes(&f[1]), INGOT_MEM_OTHER);
    const uint8_t *tiles = page;
    float *q = ingot_alloc(4 * (size_t)dim * sizeof *q, INGOT_MEM_OTHER), l[4] = {0};
    for (int i = 0; i < 4 * dim; i++) q[i] = i / dim % 2 ? -1.f : 1.f;
    for (int r = 0; r < 4; r++) m[r] = -INFINITY;
    const int32_t lo = 0, hi = 64;
    extreme_tile(be, &f[0], code, page);
    extreme_tile(be, &f[1], code, page + k_bytes);
    const ingot_attend_args a = {.k = f[0], .v = f[1], .tiles = &tiles, .v_offset = k_bytes, .n_pages = 1, .q = q, .q_token_stride = 4 * dim, .n_tokens = 1,
                                 .n_group = 4, .lo = &lo, .hi = &hi, .scale = 0.01f, .fast = fast, .m = m, .l = l, .o = o,
                                 .scratch = ingot_alloc(be->attend_scratch_bytes(&f[0], &f[1], 4, 1), INGOT_MEM_OTHER)};
    be->attend(&a);
    for (int r = 0; r < 4; r++) be->normalize(o + r * dim, l[r], o + r * dim, dim);
    ingot_dealloc(a.scratch), ingot_dealloc(q), ingot_dealloc(page);
}

static void extremes(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    enum { DIM = 128 };
    float m[2][4], o[2][4 * DIM];
    if (be->attend == ref->attend) return;
    for (int i = 0; i < 4 * INGOT_N_CODECS; i++) {
        const ingot_kv_fmt f[2] = {kv_fmt(i / 4, INGOT_SIDE_K, 0, DIM), kv_fmt(i / 4, INGOT_SIDE_V, 0, DIM)};
        if (!kv_fmt_allowed(&f[0]) || !kv_fmt_allowed(&f[1]) || i / 4 == F16 || !tile16_has(&f[0]) || !tile16_has(&f[1])) continue;
        test_case("%s/%s %s codes all %s%s", be->name, ingot_isa_name(isa), ingot_codec_get(i / 4)->name, i & 1 ? "1" : "0", i & 2 ? " fast" : "");
        memset(o, 0, sizeof o);
        attend_extreme(ref, f, i & 1 ? 255 : 0, i & 2, m[0], o[0]);
        attend_extreme(be, f, i & 1 ? 255 : 0, i & 2, m[1], o[1]);
        for (int r = 0; r < 4; r++) CHECK_NEAR(m[1][r], m[0][r], (i & 2 ? 2e-2 : 1e-3) * (1 + fabs((double)m[0][r])));
        CHECK_NMSE(o[1], o[0], 4 * DIM, i & 2 ? 3e-4 : 1e-7);
    }
}

/* --- tiles --- */

static void tile_sizes(const ingot_backend *ref, const ingot_backend *be, ingot_isa isa) {
    (void)ref;
    for (int i = 0; i < 2 * INGOT_N_CODECS; i++) {
        for (int dim = 16; dim <= 512; dim += 16) {
            const ingot_kv_fmt f = kv_fmt(i / 2, i & 1 ? INGOT_SIDE_V : INGOT_SIDE_K, 0, dim);
            if (!kv_fmt_allowed(&f)) continue;
            test_case("%s/%s %s %s dim %d", be->name, ingot_isa_name(isa), i & 1 ? "V" : "K", ingot_codec_get(f.codec)->name, dim);
            const size_t bytes = ingot_backend_tile(be, f.side, &f)->bytes(&f), blocks = (size_t)(64 / ingot_codec_tokens(&f)) * ingot_codec_get(f.codec)->block_bytes(&f);
            CHECK_INT(bytes % 64, 0);
            CHECK(bytes >= blocks && bytes < blocks + 64);
        }
    }
}

/* Codecs that say what shape their codes have get the vector loops, at the usual head sizes, unless they have tuned tiles. */
TEST("kv codecs/codes of a known shape need no decode") {
    for (int i = 0; i < 2 * INGOT_N_CODECS; i++) {
        const ingot_codec *c = ingot_codec_get(i / 2);
        for (int dim = 64; dim <= 256; dim *= 2) {
            const ingot_kv_fmt f = kv_fmt(i / 2, i & 1 ? INGOT_SIDE_V : INGOT_SIDE_K, 0, dim);
            code_plan plan;
            if (!kv_fmt_allowed(&f) || tile16_has(&f) || (!c->shape && !c->parts)) continue;
            test_case("%s %s dim %d", i & 1 ? "V" : "K", c->name, dim);
            if (CHECK(ingot_code_plan(&f, &plan))) CHECK_INT(plan.begin[plan.n], c->narrow ? 2 * dim : dim);
        }
    }
}

TEST("kv codecs/a tile takes no more than its blocks") { kv_for_each_backend(tile_sizes); }

TEST("kv codecs/what attention reads is what the codec decodes, bit for bit") { kv_for_each_backend(decodings); }

TEST("kv codecs/attention over tiles of every codec agrees with the reference") { kv_for_each_backend(attend_cases); }

/* Sums of products that only fit when they are not put together too late. */
TEST("kv codecs/codes at either end of their range overflow nothing") { kv_for_each_backend(extremes); }
