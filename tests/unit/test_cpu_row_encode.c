/* The vector encoders make the codes and scales of the codecs, bit for bit, on whatever a vector may hold. */
#include "backend/cpu/row_encode.h"
#include "base/cpu.h"
#include "base/half.h"
#include "base/rng.h"
#include "codec/shape.h"
#include "test.h"
#include <ingot/types.h>
#include <stdlib.h>

enum { TOKENS = INGOT_PAGE_TOKENS, MOST = TOKENS * INGOT_MAX_HEAD_DIM };

static const row_encoder *encoders(void) {
#if defined(__x86_64__)
    if (ingot_cpu_get()->isa >= INGOT_ISA_AVX512) return ingot_row_encode_avx512;
    return ingot_cpu_get()->isa >= INGOT_ISA_AVX2 ? ingot_row_encode_avx2 : NULL;
#elif defined(__aarch64__)
    return ingot_cpu_get()->isa >= INGOT_ISA_NEON ? ingot_row_encode_neon : NULL;
#else
    return NULL;
#endif
}

/* --- inputs --- */

static float sign(ingot_rng *r) { return ingot_rng_next(r) >> 63 ? -1.0f : 1.0f; }
static float plain(ingot_rng *r) { return (float)ingot_rng_normal(r); }
static float outlier(ingot_rng *r) { return ingot_rng_next(r) % 20 ? plain(r) : 100 * plain(r); }
static float zero(ingot_rng *r) { (void)r; return 0; }
static float signed_zero(ingot_rng *r) { return 0 * sign(r); }
static float rectified(ingot_rng *r) { const float x = plain(r); return x > 0 ? x : 0 * sign(r); }
static float constant(ingot_rng *r) { (void)r; return -3.25f; }
static float two_sides(ingot_rng *r) { return 0.75f * sign(r); }
static float integer(ingot_rng *r) { return (float)((int)(ingot_rng_next(r) >> 59) - 16); } /* 32 values in steps of 1: borders of codes are hit */
static float shifted(ingot_rng *r) { return 40 + plain(r); }
static float subnormal(ingot_rng *r) { return sign(r) * (float)(ingot_rng_next(r) % 200) * 0x1p-149f; }
static float small(ingot_rng *r) { return plain(r) * 1e-7f; } /* halves are subnormal or 0 */
static float limit(ingot_rng *r) { return sign(r) * (ingot_rng_next(r) % 3 ? 65504.0f : 65520.0f); }
static float beyond(ingot_rng *r) { return plain(r) * 1e5f; }
static float largest(ingot_rng *r) { return sign(r) * (ingot_rng_next(r) % 3 ? 3.4e38f : plain(r) * 1e30f); }
static float rare(ingot_rng *r) { return ingot_rng_next(r) % 60 ? 0 : plain(r); }

static const struct { const char *name; float (*next)(ingot_rng *r); } inputs[] = {
    {"normal", plain}, {"outliers", outlier}, {"zeros", zero}, {"zeros of both signs", signed_zero}, {"rectified", rectified}, {"a constant", constant},
    {"two equal magnitudes", two_sides}, {"integers", integer}, {"shifted", shifted}, {"subnormal", subnormal}, {"small", small}, {"limits of halves", limit},
    {"beyond halves", beyond}, {"largest floats", largest}, {"mostly zeros", rare}};

/* --- one format --- */

typedef struct subject {
    ingot_kv_fmt f;
    const ingot_codec *codec;
    ingot_code_shape shape;
    const row_encoder *encoder;
    int n_scales;        /* of a block */
    float *x;            /* [TOKENS][dim + 16] */
    uint8_t *codes;      /* [TOKENS][dim] */
    uint16_t scales[ROW_ENCODE_GROUPS], offsets[ROW_ENCODE_GROUPS];
    uint8_t *block;
} subject;

/* Whether the block has these codes and halves. */
static bool check_block(const subject *s, int tokens, const uint8_t *codes, const uint16_t *scales, const uint16_t *offsets) {
    uint8_t want[INGOT_MAX_HEAD_DIM];
    bool same = true;
    for (int g = 0; g < s->n_scales; g++) {
        same = same && memcmp(s->block + s->shape.scale_at + g * s->shape.scale_stride, &scales[g], 2) == 0;
        if (s->shape.has_offset) same = same && memcmp(s->block + s->shape.offset_at + g * s->shape.offset_stride, &offsets[g], 2) == 0;
    }
    for (int t = 0; t < tokens; t++) {
        ingot_shape_get_codes(&s->shape, &s->f, s->block, t, want);
        same = same && memcmp(want, codes + t * s->f.dim, (size_t)s->f.dim) == 0;
    }
    return same;
}

static void check_rows(subject *s, int n) {
    const ptrdiff_t stride = s->f.dim + 16;
    bool same = true;
    s->encoder->row(&s->f, s->x, stride, n, s->codes, s->scales, s->offsets);
    for (int t = 0; t < n; t++) {
        s->codec->encode(&s->f, s->x + t * stride, stride, 0, 1, s->block);
        same = same && check_block(s, 1, s->codes + t * s->f.dim, s->scales + t * s->n_scales, s->offsets + t * s->n_scales);
    }
    CHECK(same);
}

static void check_part(subject *s, int first, int n) {
    const ptrdiff_t stride = s->f.dim + 16;
    s->encoder->block(&s->f, s->x, stride, first, n, s->codes, s->scales, s->offsets);
    s->codec->encode(&s->f, s->x, stride, first, n, s->block);
    CHECK(check_block(s, s->f.group, s->codes, s->scales, s->offsets));
}

static void check_format(ingot_kv_fmt f, const row_encoder *encoder, ingot_rng *r) {
    subject s = {.f = f, .codec = ingot_codec_get(f.codec), .encoder = encoder};
    if (s.codec->check(&f)) return;
    s.codec->shape(&f, &s.shape);
    s.n_scales = s.shape.token_stride ? f.dim : (f.dim + s.shape.group - 1) / s.shape.group;
    s.x = malloc(sizeof *s.x * TOKENS * (INGOT_MAX_HEAD_DIM + 16)), s.codes = malloc(MOST), s.block = malloc(2 * MOST);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        test_case("%s %c dim %d group %d variant %d, %s", s.codec->name, f.side == INGOT_SIDE_K ? 'K' : 'V', f.dim, f.group, f.variant, inputs[i].name);
        const int tokens = s.shape.token_stride ? f.group : ROW_ENCODE_TOKENS;
        for (int t = 0; t < tokens; t++)
            for (int c = 0; c < f.dim; c++) s.x[t * (f.dim + 16) + c] = inputs[i].next(r);
        if (s.shape.token_stride) check_part(&s, 0, f.group), check_part(&s, 5, 9);
        else check_rows(&s, ROW_ENCODE_TOKENS), check_rows(&s, 1), check_rows(&s, 6);
    }
    free(s.x), free(s.codes), free(s.block);
}

static void check_codec(int id, const row_encoder *encoder, ingot_rng *r) {
    static const int dims[] = {16, 32, 48, 64, 80, 96, 112, 128, 192, 208, 256, 512}, none[] = {0, 0};
    const ingot_codec *c = ingot_codec_get(id);
    const int *groups = c->groups ? c->groups : none;
    for (int g = 0; g == 0 || groups[g]; g++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            for (int side = 0; side < (c->group_is_tokens ? 2 : 1); side++)
                for (int v = 0; v == 0 || (c->variants && c->variants[v]); v++) {
                    const bool by_tokens = c->group_is_tokens && side == INGOT_SIDE_K;
                    const int group = by_tokens || groups[g] < dims[d] ? groups[g] : dims[d];
                    check_format((ingot_kv_fmt){.codec = id, .group = group, .dim = dims[d], .variant = v, .side = (ingot_kv_side)side}, encoder, r);
                }
}

TEST("cpu/vector encoders make the codecs' codes and scales") {
    const row_encoder *e = encoders();
    ingot_rng r = {77};
    int n = 0;
    if (!e) {
        test_skip("there are none for this level");
        return;
    }
    for (int id = 0; id < INGOT_N_CODECS; id++) {
        if (!e[id].row) continue;
        check_codec(id, &e[id], &r);
        n++;
    }
    CHECK(n >= 20);
}
