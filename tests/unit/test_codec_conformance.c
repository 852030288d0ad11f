/* What every codec of the registry promises, on both sides, for every group and variant and many head sizes. */
#include "codec_rows.h"
#include <float.h>
#include <stdlib.h>

enum { GUARD = 0xa5, GUARD_BYTES = 16 };

/* A format under test and its buffers: x and y hold the vectors of a block, block and again its bytes between guards. */
typedef struct subject {
    ingot_kv_fmt f;
    const ingot_codec *c;
    int tokens;
    size_t bytes, cells;
    float *x, *y;
    uint8_t *block, *again;
    ingot_rng *r;
} subject;

typedef void (*promise)(subject *s);

static void visit(ingot_kv_fmt f, promise check, ingot_rng *r) {
    subject s = {.f = f, .c = ingot_codec_get(f.codec), .r = r};
    if (s.c->check(&f)) return;
    test_case("%s %c dim %d group %d variant %d", s.c->name, f.side == INGOT_SIDE_K ? 'K' : 'V', f.dim, f.group, f.variant);
    s.tokens = ingot_codec_tokens(&f), s.bytes = s.c->block_bytes(&f), s.cells = (size_t)(s.tokens * f.dim);
    s.x = malloc(s.cells * sizeof *s.x), s.y = malloc(s.cells * sizeof *s.y);
    s.block = malloc(s.bytes + 2 * GUARD_BYTES), s.again = malloc(s.bytes + 2 * GUARD_BYTES);
    memset(s.block, GUARD, s.bytes + 2 * GUARD_BYTES);
    memset(s.again, ~GUARD, s.bytes + 2 * GUARD_BYTES);
    for (size_t i = 0; i < s.cells; i++) s.x[i] = (float)ingot_rng_normal(r);
    s.block += GUARD_BYTES, s.again += GUARD_BYTES;
    check(&s);
    free(s.x), free(s.y), free(s.block - GUARD_BYTES), free(s.again - GUARD_BYTES);
}

/* Random params for a codec and group that need a codebook; both results are owned. */
static void make_params(ingot_kv_fmt *f, ingot_codec_params *params, float **codebook, void **memory, ingot_rng *r) {
    const size_t n = ((size_t)1 << ingot_codec_get(f->codec)->code_bits) * (size_t)f->group;
    *codebook = malloc(n * sizeof **codebook);
    for (size_t i = 0; i < n; i++) (*codebook)[i] = (float)ingot_rng_normal(r);
    *memory = aligned_alloc(64, (ingot_codec_params_bytes(f) + 63) / 64 * 64);
    CHECK(ingot_codec_params_fill(f, *codebook, *memory, params) == NULL);
    f->params = params;
}

static void each_size(ingot_kv_fmt f, promise check, ingot_rng *r) {
    static const int dims[] = {16, 64, 80, 96, 112, 128, 192, 256, 512};
    static const char *const none[] = {"", NULL};
    const ingot_codec *c = ingot_codec_get(f.codec);
    const int group = f.group;
    for (int side = 0; side < 2; side++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims && c->sides >> side & 1; d++) {
            f.side = (ingot_kv_side)side, f.dim = dims[d], f.adjacent_pairs = dims[d] % 128 == 0;
            f.group = (c->group_is_tokens && side == INGOT_SIDE_K) || group < f.dim ? group : f.dim;
            const char *const *v = c->variants ? c->variants : none;
            for (f.variant = 0; v[f.variant]; f.variant++) visit(f, check, r);
        }
}

static void each_format(promise check) {
    static const int none[] = {0, 0};
    ingot_rng r = {51};
    for (int id = 0; id < INGOT_N_CODECS; id++) {
        const ingot_codec *c = ingot_codec_get(id);
        const int *groups = c->groups ? c->groups : none;
        for (int g = 0; g == 0 || groups[g]; g++) {
            ingot_kv_fmt f = {.codec = id, .group = groups[g], .dim = 128};
            ingot_codec_params params;
            float *codebook = NULL;
            void *memory = NULL;
            if (c->needs != INGOT_CAL_NONE) make_params(&f, &params, &codebook, &memory, &r);
            each_size(f, check, &r);
            free(codebook), free(memory);
        }
    }
}

static void encode_all(subject *s, uint8_t *block) { s->c->encode(&s->f, s->x, s->f.dim, 0, s->tokens, block); }

static bool all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* --- bytes --- */

static void guards_hold(const subject *s) {
    uint8_t want[GUARD_BYTES];
    memset(want, GUARD, sizeof want);
    CHECK_MEM(s->block - GUARD_BYTES, want, GUARD_BYTES);
    CHECK_MEM(s->block + s->bytes, want, GUARD_BYTES);
}

static void writes_its_block(subject *s) {
    CHECK(INGOT_PAGE_TOKENS % s->tokens == 0);
    CHECK(s->bytes <= s->cells * 2); /* nothing is larger than halves */
    encode_all(s, s->block);
    guards_hold(s);
    encode_all(s, s->again); /* over other bytes */
    CHECK_MEM(s->again, s->block, s->bytes);
    const ptrdiff_t stride = s->f.dim + 7;
    float *apart = malloc((size_t)(s->tokens * stride) * sizeof *apart);
    for (int t = 0; t < s->tokens; t++) memcpy(apart + t * stride, s->x + (ptrdiff_t)t * s->f.dim, (size_t)s->f.dim * sizeof *apart);
    s->c->encode(&s->f, apart, stride, 0, s->tokens, s->again);
    CHECK_MEM(s->again, s->block, s->bytes);
    free(apart);
}

TEST("codec conformance/encode writes its block, all of it and nothing else, the same every time") { each_format(writes_its_block); }

/* Tokens [first, first + n) of a block: what lies where others would be is not read. */
static void ignores_absent_tokens(subject *s) {
    const int parts[][2] = {{0, 1}, {0, s->tokens - 1}, {s->tokens / 2, 1}, {s->tokens / 4, s->tokens / 2}, {s->tokens - 1, 1}};
    if (s->tokens == 1) return;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const int first = parts[p][0], n = parts[p][1];
        float *only = malloc(s->cells * sizeof *only);
        for (size_t i = 0; i < s->cells; i++) only[i] = (int)i / s->f.dim < first || (int)i / s->f.dim >= first + n ? NAN : s->x[i];
        s->c->encode(&s->f, s->x, s->f.dim, first, n, s->block);
        s->c->encode(&s->f, only, s->f.dim, first, n, s->again);
        guards_hold(s);
        CHECK_MEM(s->again, s->block, s->bytes);
        s->c->decode(&s->f, s->block, s->y);
        CHECK(all_finite(s->y, s->cells));
        free(only);
    }
}

TEST("codec conformance/absent tokens of a block take no part") { each_format(ignores_absent_tokens); }

/* --- values --- */

static void decodes_to_something_near(subject *s) {
    double error = 0, square = 0;
    for (int n = 0; n < 20; n++) {
        for (size_t i = 0; i < s->cells; i++) s->x[i] = (float)ingot_rng_normal(s->r);
        encode_all(s, s->block);
        s->c->decode(&s->f, s->block, s->y);
        for (size_t i = 0; i < s->cells; i++) {
            const double x = (double)s->x[i], e = (double)s->y[i] - x;
            error += e * e, square += x * x;
        }
        if (s->cells >= 1024) break;
    }
    CHECK(error < .75 * square); /* a codec that gives zeros back has 1 */
    memset(s->block, 0, s->bytes); /* a slot that was never written */
    s->c->decode(&s->f, s->block, s->y);
    for (size_t i = 0; i < s->cells; i++)
        if (s->c->needs == INGOT_CAL_NONE ? s->y[i] != 0 : !isfinite(s->y[i])) CHECK_NEAR(s->y[i], 0, 0);
}

TEST("codec conformance/decode resembles the input, and empty slots are zero") { each_format(decodes_to_something_near); }

/* Element i of token t. */
static float hostile(int kind, int t, int i, ingot_rng *r) {
    const float sign = (i * 7 + t) % 3 ? 1.0f : -1.0f;
    switch (kind) {
    case 0: return 0.0f;
    case 1: return sign * 0.0f;
    case 2: return 0.3f;
    case 3: return sign * 65504.0f;
    case 4: return -65504.0f;
    case 5: return sign * 1e30f;
    case 6: return sign * FLT_MAX;
    case 7: return FLT_MAX;
    case 8: return sign * 1e-40f;
    case 9: return i == 3 ? 0x1p-149f : 0.0f;
    case 10: return sign * 3e-8f;
    case 11: return i == 5 ? FLT_MAX : 1e-30f;
    case 12: return i == 5 && t % 5 == 0 ? -1e30f : (float)ingot_rng_normal(r);
    case 13: return sign * ldexpf(1.0f, (i * 37 + t * 11) % 250 - 125);
    case 14: return 70000.0f + (float)i;
    default: return 1e-15f * (float)ingot_rng_normal(r);
    }
}

static void stays_finite(subject *s) {
    if (s->f.dim % 80 && s->f.dim != 128 && s->f.dim != 512) return; /* 80: short last groups */
    for (int kind = 0; kind < 16; kind++) {
        for (size_t i = 0; i < s->cells; i++) s->x[i] = hostile(kind, (int)i / s->f.dim, (int)i % s->f.dim, s->r);
        encode_all(s, s->block);
        guards_hold(s);
        s->c->decode(&s->f, s->block, s->y);
        if (!all_finite(s->y, s->cells)) CHECK_INT(kind, -1);
        for (size_t i = 0; i < s->cells && kind < 2 && s->c->needs == INGOT_CAL_NONE; i++)
            if (s->y[i] != 0) CHECK_NEAR(s->y[i], 0, 0);
    }
}

TEST("codec conformance/whatever the input, the block decodes to finite numbers") { each_format(stays_finite); }

/* --- shape --- */

static float shape_scale(ingot_scale_kind kind, const uint8_t *p) {
    if (kind == INGOT_SCALE_E8M0) return ldexpf(1.0f, p[0] - 127);
    if (kind == INGOT_SCALE_E4M3) return p[0] < 8 ? ldexpf(p[0], -9) : ldexpf((float)(8 + (p[0] & 7)), (p[0] >> 3) - 10);
    return half_at(p);
}

/* Element c of token t by the words of codec.h. */
static float shape_element(const ingot_code_shape *h, int dim, const uint8_t *b, int t, int c) {
    const int g = c / h->group, at = c - g * h->group, left = dim - g * h->group, n = left < h->group ? left : h->group;
    const uint8_t *codes = b + h->code_at + (h->token_stride ? t * h->token_stride : g * h->code_stride);
    const int fifths = h->order == INGOT_ORDER_HALVES && h->bits == 5 ? n / 8 : 0; /* bytes */
    int code;
    if (h->order == INGOT_ORDER_HALVES) code = codes[fifths + at % (n / 2)] >> (at >= n / 2 ? 4 : 0) & 15;
    else code = codec_bits_at(codes, h->bits, h->token_stride ? c : at);
    if (fifths) code |= codec_bits_at(codes, 1, at) << 4;
    volatile float x = h->level[code] * shape_scale(h->scale_kind, b + h->scale_at + g * h->scale_stride);
    if (h->has_offset) x = x + half_at(b + h->offset_at + g * h->offset_stride);
    return x;
}

static void shape_agrees(subject *s) {
    ingot_code_shape h;
    if (!s->c->shape) return;
    memset(&h, 0xff, sizeof h); /* every field is set */
    s->c->shape(&s->f, &h);
    CHECK(h.bits >= 1 && h.bits <= 8 && h.level && h.group >= 1);
    CHECK((h.token_stride != 0) == (s->tokens > 1) && h.token_stride >= 0);
    if (h.order == INGOT_ORDER_HALVES) CHECK((h.bits == 4 || h.bits == 5) && h.group == 32);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < s->cells && round; i++) s->x[i] = hostile(13, (int)i / s->f.dim, (int)i % s->f.dim, s->r);
        encode_all(s, s->block);
        s->c->decode(&s->f, s->block, s->y);
        for (size_t i = 0; i < s->cells; i++) {
            const float want = shape_element(&h, s->f.dim, s->block, (int)i / s->f.dim, (int)i % s->f.dim);
            if (s->y[i] != want) CHECK_NEAR(s->y[i], (double)want, 0);
        }
    }
}

TEST("codec conformance/what a shape describes is what decode gives") { each_format(shape_agrees); }

/* <q, x> = <prepared q, w>: n elements of the wide frame. */
static void wide_scores_agree(subject *s, const float *w, int n) {
    float q[INGOT_MAX_HEAD_DIM];
    float *prepared = aligned_alloc(64, (s->c->query_bytes(&s->f) + 63) / 64 * 64);
    double narrow = 0, wide = 0, q2 = 0, x2 = 0;
    for (int i = 0; i < s->f.dim; i++) {
        q[i] = (float)ingot_rng_normal(s->r);
        narrow += (double)q[i] * (double)s->y[i], q2 += (double)q[i] * (double)q[i], x2 += (double)s->y[i] * (double)s->y[i];
    }
    CHECK_INT(s->c->query_bytes(&s->f), (size_t)n * sizeof *prepared);
    s->c->prepare(&s->f, q, prepared);
    for (int i = 0; i < n; i++) wide += (double)prepared[i] * (double)w[i];
    CHECK_NEAR(wide, narrow, 4e-6 * sqrt(q2 * x2));
    free(prepared);
}

/* Two parts of a row, in the frame of the vector or in a wider one from which `narrow` leads back. */
static void parts_agree(subject *s) {
    ingot_code_shape part[2];
    int channels[2], n = 0;
    float w[2 * INGOT_MAX_HEAD_DIM], narrowed[INGOT_MAX_HEAD_DIM];
    CHECK(!s->c->narrow || s->c->parts);
    if (!s->c->parts) return;
    memset(part, 0xff, sizeof part);
    s->c->parts(&s->f, part, channels);
    encode_all(s, s->block);
    s->c->decode(&s->f, s->block, s->y);
    if (!CHECK(s->tokens == 1 && channels[0] > 0 && channels[1] > 0 && channels[0] + channels[1] <= (s->c->narrow ? 2 : 1) * s->f.dim)) return;
    for (int p = 0; p < 2; p++)
        for (int c = 0; c < channels[p]; c++) w[n++] = shape_element(&part[p], channels[p], s->block, 0, c);
    if (s->c->narrow) {
        s->c->narrow(&s->f, w, narrowed);
        CHECK_NMSE(narrowed, s->y, (size_t)s->f.dim, 1e-11);
        if (s->f.side == INGOT_SIDE_K) wide_scores_agree(s, w, n);
    } else {
        CHECK_INT(n, s->f.dim);
        CHECK_MEM(s->y, w, (size_t)s->f.dim * sizeof *w);
    }
}

TEST("codec conformance/what two parts describe is what decode gives") { each_format(parts_agree); }

/* --- score --- */

static void scores_agree(subject *s) {
    float q[INGOT_MAX_HEAD_DIM], got[INGOT_PAGE_TOKENS + 1];
    CHECK((s->c->score != NULL) == (s->c->prepare != NULL) && (s->c->score != NULL) == (s->c->query_bytes != NULL));
    if (!s->c->score || s->f.side != INGOT_SIDE_K) return;
    const size_t bytes = s->c->query_bytes(&s->f);
    uint8_t *prepared = aligned_alloc(64, (bytes + GUARD_BYTES + 63) / 64 * 64);
    double q2 = 0;
    for (int i = 0; i < s->f.dim; i++) q[i] = (float)ingot_rng_normal(s->r), q2 += (double)q[i] * (double)q[i];
    memset(prepared + bytes, GUARD, GUARD_BYTES);
    s->c->prepare(&s->f, q, prepared);
    for (int i = 0; i < GUARD_BYTES; i++) CHECK_INT(prepared[bytes + (size_t)i], GUARD);
    encode_all(s, s->block);
    s->c->decode(&s->f, s->block, s->y);
    got[s->tokens] = 77;
    s->c->score(&s->f, prepared, s->block, got);
    CHECK_NEAR(got[s->tokens], 77, 0);
    for (int t = 0; t < s->tokens; t++) {
        double want = 0, x2 = 0;
        for (int i = 0; i < s->f.dim; i++) {
            const double x = (double)s->y[t * s->f.dim + i];
            want += x * (double)q[i], x2 += x * x;
        }
        CHECK_NEAR(got[t], want, 4e-6 * sqrt(q2 * x2));
    }
    free(prepared);
}

TEST("codec conformance/scores are products with what is decoded") { each_format(scores_agree); }

/* --- registry --- */

TEST("codec conformance/the registry knows its names and refuses head sizes that no cache has") {
    static const int bad[] = {0, -16, 8, 40, 528, 1 << 30};
    for (int id = 0; id < INGOT_N_CODECS; id++) {
        const ingot_codec *c = ingot_codec_get(id);
        test_case("%s", c->name);
        CHECK_INT(ingot_codec_find(c->name), id);
        CHECK(c->description[0] && c->options && (c->sides & 3) && !(c->sides & ~3u));
        CHECK((c->groups != NULL) == (c->default_group != 0) && (c->variants != NULL) == (c->variant_key != NULL));
        bool listed = !c->groups;
        for (const int *g = c->groups; g && *g; g++) listed |= *g == c->default_group;
        CHECK(listed);
        for (int side = 0; side < 2; side++)
            for (size_t d = 0; d < sizeof bad / sizeof *bad && c->sides >> side & 1; d++) {
                const ingot_kv_fmt f = {.codec = id, .side = (ingot_kv_side)side, .dim = bad[d], .group = c->default_group, .variant = c->default_variant[side]};
                CHECK(c->check(&f) != NULL);
            }
    }
    CHECK(ingot_codec_get(-1) == NULL && ingot_codec_get(INGOT_N_CODECS) == NULL);
    CHECK_INT(ingot_codec_find("q9"), -1);
}

TEST("codec conformance/f16 is exact for halves") {
    const ingot_kv_fmt f = codec_row_fmt("f16", 128, 0);
    CHECK(codec_noise_error(&f, 1000, 0) < 1e-7);
}
