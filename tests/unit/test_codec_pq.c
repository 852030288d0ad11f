/* Product quantisation: the worked example, search against comparing with every centroid, packing, distortion with trained books, bad codebooks. */
#include "codec/codebook.h"
#include "codec_forms.h"
#include "test.h"
#include <ingot/types.h>
#include <stdlib.h>

static const char *const names[] = {"pq8", "pq10", "pq12"};

/* A format with params from a codebook, which is owned. */
typedef struct pq_setup {
    ingot_kv_fmt f;
    ingot_codec_params params;
    int rows;
    float *codebook;
    void *memory;
} pq_setup;

static void setup(pq_setup *s, const char *name, int dim, int group, ingot_kv_side side) {
    *s = (pq_setup){.f = codec_fmt(name, dim, side)};
    s->f.group = group;
    s->rows = 1 << ingot_codec_get(s->f.codec)->code_bits;
    s->codebook = malloc(sizeof(float) * (size_t)(s->rows * group));
    s->memory = aligned_alloc(64, (ingot_codec_params_bytes(&s->f) + 63) / 64 * 64);
}

static const char *fill(pq_setup *s) {
    const char *why = ingot_codec_params_fill(&s->f, s->codebook, s->memory, &s->params);
    s->f.params = &s->params;
    return why;
}

static void setup_normal(pq_setup *s, const char *name, int dim, int group, ingot_rng *r) {
    setup(s, name, dim, group, INGOT_SIDE_K);
    for (int i = 0; i < s->rows * group; i++) s->codebook[i] = (float)ingot_rng_normal(r);
    CHECK(fill(s) == NULL);
}

static void end(pq_setup *s) { free(s->codebook), free(s->memory); }

static int compare_all(const pq_setup *s, const float *x) {
    float best = INFINITY;
    int at = 0;
    for (int c = 0; c < s->rows; c++) {
        float d = s->params.half_norm[c];
        for (int k = 0; k < s->f.group; k++) d -= x[k] * s->codebook[c * s->f.group + k];
        if (d < best) best = d, at = c;
    }
    return at;
}

static int code_of(const uint8_t *row, int i, int bits) {
    int code = 0;
    for (int b = 0; b < bits; b++) code |= (row[(i * bits + b) / 8] >> ((i * bits + b) % 8) & 1) << b;
    return code;
}

/* Keys k = (3, -.5, .2, -6) / lambda, rotated: (-.3, 2.2, 1.3, -.2); query (.875, -.875, 1.125, .875); centroids of two channels, padded to four with zeros,
 * the other rows far away. */
TEST("codec/pq: the worked example") {
    static const float book[4][2] = {{-1, .5f}, {1, 1.5f}, {.5f, 2}, {-.5f, -1}};
    const float key[16] = {-.3f, 2.2f, 0, 0, 1.3f, -.2f, 0, 0, 50, 50, 50, 50, 50, 50, 50, 50}, query[16] = {.875f, -.875f, 0, 0, 1.125f, .875f};
    static const double lut[2][4] = {{-1.3125, -.4375, -1.3125, .4375}, {-.6875, 2.4375, 2.3125, -1.4375}};
    pq_setup s;
    const ingot_codec *c = ingot_codec_get(ingot_codec_find("pq8"));
    float prepared[4 * 256], score, y[16];
    uint8_t row[4];
    setup(&s, "pq8", 16, 4, INGOT_SIDE_K);
    for (int i = 0; i < 256 * 4; i++) s.codebook[i] = i < 16 ? (i % 4 < 2 ? book[i / 4][i % 4] : 0) : i < 20 ? 50 : 100; /* row 4 for the parts that are not used */
    CHECK(fill(&s) == NULL);
    for (int i = 0; i < 2; i++) CHECK_INT(ingot_codebook_nearest(s.params.search, key + 4 * i), i == 0 ? 2 : 1);
    CHECK_INT(c->block_bytes(&s.f), 4);
    c->encode(&s.f, key, 16, 0, 1, row);
    CHECK_INT(row[0], 2);
    CHECK_INT(row[1], 1);
    CHECK_INT(row[2], 4);
    CHECK_INT(row[3], 4);
    CHECK_INT(c->query_bytes(&s.f), sizeof prepared);
    c->prepare(&s.f, query, prepared);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) CHECK_NEAR(prepared[256 * i + k], lut[i][k], 1e-6);
    c->score(&s.f, prepared, row, &score);
    CHECK_NEAR(score, 1.125, 1e-6);
    /* (k / lambda) H with H = Walsh-Hadamard / 2 back to the model's frame: y H, times lambda */
    static const float lambda[4] = {2, 1, .5f, 3};
    static const double want[4] = {5, -1, 0, -1.5};
    c->decode(&s.f, row, y);
    const float t[4] = {y[0], y[1], y[4], y[5]};
    const float back[4] = {t[0] + t[1] + t[2] + t[3], t[0] - t[1] + t[2] - t[3], t[0] + t[1] - t[2] - t[3], t[0] - t[1] - t[2] + t[3]};
    for (int i = 0; i < 4; i++) CHECK_NEAR(back[i] / 2 * lambda[i], want[i], 1e-6);
    end(&s);
}

TEST("codec/pq: the search finds what comparing with every centroid finds") {
    ingot_rng r = {41};
    for (int n = 0; n < 3; n++)
        for (int group = 4; group <= 8; group += 4)
            for (int kind = 0; kind < 4; kind++) {
                pq_setup s;
                int wrong = 0;
                test_case("%s group %d codebook %d", names[n], group, kind);
                setup(&s, names[n], 64, group, INGOT_SIDE_K);
                for (int i = 0; i < s.rows * group; i++) {
                    const double x = ingot_rng_normal(&r);
                    s.codebook[i] = (float)(kind == 0   ? x
                                            : kind == 1 ? rint(x)                                   /* many equal rows and equal distances */
                                            : kind == 2 ? (i % group ? 0.01 * x : 1000 + x)         /* an offset */
                                                        : (i / group % 7 ? 0.5 : fmin(exp(3 * x) * 10, 6e4))); /* most rows one and the same, some far */
                }
                CHECK(fill(&s) == NULL);
                for (int i = 0; i < 400; i++) {
                    float x[8];
                    for (int k = 0; k < group; k++) x[k] = (float)(ingot_rng_normal(&r) * (i % 5 == 4 ? 50 : 1));
                    if (i % 3 == 0) /* on a centroid, or between two */
                        for (int k = 0; k < group; k++) x[k] = (s.codebook[(i * 7 % s.rows) * group + k] + s.codebook[(i * (i % 2 ? 7 : 11) % s.rows) * group + k]) / 2;
                    if (i == 0) x[0] = 65504, x[1] = -65504;
                    if (i == 1) memset(x, 0, sizeof x);
                    wrong += ingot_codebook_nearest(s.params.search, x) != compare_all(&s, x);
                }
                CHECK_INT(wrong, 0);
                end(&s);
            }
}

TEST("codec/pq: every code packs and unpacks at every place") {
    ingot_rng r = {52};
    for (int n = 0; n < 3; n++) {
        pq_setup s;
        setup_normal(&s, names[n], 80, 8, &r);
        const ingot_codec *c = ingot_codec_get(s.f.codec);
        const int bits = c->code_bits;
        int wrong = 0;
        for (int code = 0; code < s.rows; code++) { /* centroids are their own nearest ones */
            float x[80], y[80];
            uint8_t row[16] = {0};
            for (int i = 0; i < 10; i++) memcpy(x + 8 * i, s.codebook + (code * (i + 1) + 31 * i) % s.rows * 8, sizeof(float) * 8);
            c->encode(&s.f, x, 80, 0, 1, row);
            c->decode(&s.f, row, y);
            for (int i = 0; i < 10; i++) wrong += code_of(row, i, bits) != (code * (i + 1) + 31 * i) % s.rows;
            wrong += memcmp(x, y, sizeof x) != 0;
        }
        CHECK_INT(c->block_bytes(&s.f), (10 * bits + 7) / 8);
        CHECK_INT(wrong, 0);
        end(&s);
    }
}

TEST("codec/pq: score form and value form agree for every head size and side") {
    ingot_rng r = {8};
    for (int n = 0; n < 3; n++)
        for (int group = 4; group <= 8; group += 4) {
            pq_setup s;
            setup_normal(&s, names[n], 64, group, &r);
            for (const int *dim = codec_dims; *dim; dim++) {
                s.f.dim = *dim;
                test_case("%s group %d dim %d", names[n], group, *dim);
                CHECK(ingot_codec_get(s.f.codec)->check(&s.f) == NULL);
                codec_check_forms(&s.f, &r, 0, 1, 1.0);
            }
            end(&s);
        }
}

/* A few rounds of k-means on normal data; the published distortions are those of converged books (.0971 for 256 centroids of 4). */
TEST("codec/pq: error with a trained book is the published one") {
    enum { TRAIN = 40000, ROUNDS = 20 };
    pq_setup s;
    ingot_rng r = {90};
    setup(&s, "pq8", 128, 4, INGOT_SIDE_V);
    const ingot_codec *c = ingot_codec_get(s.f.codec);
    float *data = malloc(sizeof(float) * TRAIN * 4);
    for (int i = 0; i < TRAIN * 4; i++) data[i] = (float)ingot_rng_normal(&r);
    memcpy(s.codebook, data, sizeof(float) * 256 * 4);
    for (int round = 0; round < ROUNDS; round++) {
        double sum[256][4] = {{0}};
        int count[256] = {0};
        CHECK(fill(&s) == NULL);
        for (int i = 0; i < TRAIN; i++) {
            const int at = ingot_codebook_nearest(s.params.search, data + 4 * i);
            count[at]++;
            for (int k = 0; k < 4; k++) sum[at][k] += (double)data[4 * i + k];
        }
        for (int i = 0; i < 256 * 4; i++)
            if (count[i / 4]) s.codebook[i] = (float)(sum[i / 4][i % 4] / count[i / 4]);
    }
    CHECK(fill(&s) == NULL);
    double error = 0, norm = 0;
    for (int n = 0; n < 400; n++) {
        float x[128], y[128];
        uint8_t row[32];
        for (int i = 0; i < 128; i++) x[i] = (float)ingot_rng_normal(&r);
        c->encode(&s.f, x, 128, 0, 1, row);
        c->decode(&s.f, row, y);
        for (int i = 0; i < 128; i++) error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]), norm += (double)x[i] * (double)x[i];
    }
    CHECK_NEAR(error / norm, .0971, .003);
    free(data);
    end(&s);
}

TEST("codec/pq: sizes, groups, vectors at the end of the range, codebooks that are refused") {
    ingot_rng r = {61};
    pq_setup s;
    setup_normal(&s, "pq12", 128, 8, &r);
    const ingot_codec *c = ingot_codec_get(s.f.codec);
    CHECK_INT(c->block_bytes(&s.f), 24); /* 1.5 bits an element */
    float x[128], y[128];
    uint8_t row[24];
    for (int i = 0; i < 128; i++) x[i] = i % 3 ? 3.4e38f : -3.4e38f;
    c->encode(&s.f, x, 128, 0, 1, row);
    c->decode(&s.f, row, y);
    for (int i = 0; i < 128; i++) CHECK(isfinite(y[i]));
    s.f.group = 16;
    CHECK_HAS(c->check(&s.f), "4 or 8");
    s.f.group = 4;
    CHECK_INT(c->block_bytes(&s.f), 48); /* 3 bits */
    s.f.dim = 72;
    CHECK(c->check(&s.f) != NULL);
    CHECK_INT(c->sides, 3);
    s.f.group = 8, s.f.dim = 128;
    s.codebook[5] = NAN;
    CHECK_HAS(fill(&s), "65504");
    s.codebook[5] = INFINITY;
    CHECK_HAS(fill(&s), "65504");
    s.codebook[5] = -1e6f;
    CHECK_HAS(fill(&s), "65504");
    end(&s);
    const ingot_kv_fmt plain = codec_fmt("polar", 64, INGOT_SIDE_K);
    CHECK_INT(ingot_codec_params_bytes(&plain), 0);
}
