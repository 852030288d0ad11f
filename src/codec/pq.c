/* pq8, pq10, pq12: product quantisation with trained codebooks (VecInfer, arXiv 2510.06175). A vector is cut into sub-vectors of `group` = 4 or 8 channels;
 * each is stored as the number of its nearest centroid, 8, 10 or 12 bits. One codebook for a layer, side and KV head, shared by all sub-vectors; keys are
 * smoothed and rotated first, and the codebook was trained in that frame. No scale: bits / group bits an element.
 * Row: codes [dim / group], least significant bit first. */
#include "codebook.h"
#include "codec_util.h"
#include <math.h>
#include <string.h>

static int bits_of(const ingot_kv_fmt *f) { return ingot_codec_get(f->codec)->code_bits; }

static size_t row_bytes(const ingot_kv_fmt *f) { return ((size_t)(f->dim / f->group) * (size_t)bits_of(f) + 7) / 8; }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *row) {
    const int bits = bits_of(f);
    (void)stride, (void)first, (void)n;
    memset(row, 0, row_bytes(f));
    for (int i = 0; i < f->dim / f->group; i++) {
        float part[INGOT_CODEBOOK_MAX_GROUP];
        for (int k = 0; k < f->group; k++) part[k] = fminf(fmaxf(x[i * f->group + k], -INGOT_F16_MAX), INGOT_F16_MAX);
        const unsigned word = (unsigned)ingot_codebook_nearest(f->params->search, part) << (i * bits % 8);
        uint8_t *p = (uint8_t *)row + i * bits / 8;
        p[0] |= (uint8_t)word;
        if (bits > 8) p[1] |= (uint8_t)(word >> 8);
    }
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    const int bits = bits_of(f), group = f->group;
    for (int i = 0; i < f->dim / group; i++) memcpy(x + i * group, f->params->codebook + ingot_codebook_code(row, i, bits) * group, sizeof(float) * (size_t)group);
}

/* Scores of 8 bits by table: products of each part of the query with all centroids, 32 KiB at 128 channels in fours, as much work as 256 tokens.
 * A table for 10 or 12 bits would leave the first-level cache and cost as much as 1024 or 4096 tokens; there each token's centroids are multiplied with the query. */
static bool by_table(const ingot_kv_fmt *f) { return bits_of(f) == 8; }

static size_t query_bytes(const ingot_kv_fmt *f) { return sizeof(float) * (size_t)(by_table(f) ? (f->dim / f->group) << 8 : f->dim); }

static inline float product(const float *a, const float *b, int group) {
    float sum = a[0] * b[0];
    for (int k = 1; k < group; k++) sum += a[k] * b[k];
    return sum;
}

static void prepare(const ingot_kv_fmt *f, const float *q, void *prepared) {
    float *out = prepared;
    if (!by_table(f)) {
        memcpy(out, q, sizeof(float) * (size_t)f->dim);
        return;
    }
    for (int i = 0; i < f->dim / f->group; i++)
        for (int c = 0; c < 256; c++) *out++ = product(q + i * f->group, f->params->codebook + c * f->group, f->group);
}

static inline float gather(const ingot_kv_fmt *f, const float *q, const uint8_t *row, int bits, int group) {
    float sum = 0.0f;
    for (int i = 0; i < f->dim / group; i++) sum += product(q + i * group, f->params->codebook + ingot_codebook_code(row, i, bits) * group, group);
    return sum;
}

static void score(const ingot_kv_fmt *f, const void *prepared, const void *row, float *s) {
    const int n = f->dim / f->group;
    const uint8_t *code = row;
    const float *table = prepared;
    if (by_table(f)) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++) sum += table[i * 256 + code[i]];
        *s = sum;
    } else if (bits_of(f) == 10) {
        *s = f->group == 4 ? gather(f, prepared, row, 10, 4) : gather(f, prepared, row, 10, 8);
    } else {
        *s = f->group == 4 ? gather(f, prepared, row, 12, 4) : gather(f, prepared, row, 12, 8);
    }
}

static const char *check(const ingot_kv_fmt *f) {
    if (f->group != 4 && f->group != 8) return "sub-vectors have 4 or 8 channels";
    return ingot_codec_check_dim(f);
}

static const int groups[] = {4, 8, 0};

#define PQ(id, bits)                                                                                                         \
    const ingot_codec ingot_codec_##id = {                                                                                   \
        .name = #id, .source = "arXiv 2510.06175", .description = "product quantisation: " #bits "-bit numbers of trained centroids of sub-vectors (VecInfer)", \
        .sides = INGOT_BOTH_SIDES, .default_group = 4, .groups = groups, .options = "group=4|8",                             \
        .needs = INGOT_CAL_CODEBOOK, .code_bits = bits, .frame = {"smooth,hadamard", ""},                                    \
        .block_bytes = row_bytes, .encode = encode, .decode = decode, .check = check,                                        \
        .query_bytes = query_bytes, .prepare = prepare, .score = score,                                                      \
    }
PQ(pq8, 8);
PQ(pq10, 10);
PQ(pq12, 12);
