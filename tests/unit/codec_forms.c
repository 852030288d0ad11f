#include "codec_forms.h"
#include "test.h"
#include <ingot/types.h>
#include <stdlib.h>

const int codec_dims[] = {16, 32, 64, 80, 96, 112, 128, 144, 192, 256, 320, 512, 0};

ingot_kv_fmt codec_fmt(const char *name, int dim, ingot_kv_side side) {
    const int id = ingot_codec_find(name);
    const ingot_codec *c = ingot_codec_get(id);
    if (!CHECK(c != NULL)) return (ingot_kv_fmt){0};
    const int group = c->group_is_tokens || c->default_group <= dim ? c->default_group : dim;
    return (ingot_kv_fmt){.codec = id, .group = group, .dim = dim, .variant = c->default_variant[side], .side = side};
}

static void check_scores(const ingot_codec *c, const ingot_kv_fmt *f, ingot_rng *r, const void *block, const float *decoded, int tokens) {
    float q[INGOT_MAX_HEAD_DIM], s[INGOT_PAGE_TOKENS];
    void *prepared = aligned_alloc(64, (c->query_bytes(f) + 63) / 64 * 64);
    double q2 = 0;
    for (int i = 0; i < f->dim; i++) q[i] = (float)ingot_rng_normal(r), q2 += (double)q[i] * (double)q[i];
    c->prepare(f, q, prepared);
    c->score(f, prepared, block, s);
    for (int t = 0; t < tokens; t++) {
        double want = 0, x2 = 0;
        for (int i = 0; i < f->dim; i++) {
            const double x = (double)decoded[t * f->dim + i];
            want += x * (double)q[i], x2 += x * x;
        }
        CHECK_NEAR(s[t], want, 2e-6 * sqrt(q2 * x2));
    }
    free(prepared);
}

void codec_check_forms(const ingot_kv_fmt *f, ingot_rng *r, int first, int n, double nmse) {
    const ingot_codec *c = ingot_codec_get(f->codec);
    const int tokens = c->tokens ? c->tokens(f) : 1;
    const size_t bytes = c->block_bytes(f), cells = (size_t)tokens * (size_t)f->dim;
    float *x = malloc(cells * sizeof *x), *y = malloc(cells * sizeof *y);
    uint8_t *block = malloc(bytes + 1), *again = calloc(1, bytes);
    for (size_t i = 0; i < cells; i++) x[i] = (float)ingot_rng_normal(r);
    memset(block, 0xa5, bytes + 1);
    c->encode(f, x, f->dim, first, n, block);
    for (size_t i = 0; i < cells; i++) /* absent tokens are not read */
        if ((int)i / f->dim < first || (int)i / f->dim >= first + n) x[i] = NAN;
    c->encode(f, x, f->dim, first, n, again);
    CHECK_INT(block[bytes], 0xa5);
    CHECK_MEM(block, again, bytes);
    c->decode(f, block, y);
    for (size_t i = 0; i < cells; i++)
        if (!CHECK(isfinite(y[i]))) break;
    CHECK_NMSE(y + first * f->dim, x + first * f->dim, (size_t)(n * f->dim), nmse);
    check_scores(c, f, r, block, y, tokens);
    free(x), free(y), free(block), free(again);
}
