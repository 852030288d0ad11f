/* polarpair: radius and angle of the channel pairs that RoPE rotates, each affine over a group of tokens (Wu et al.: PolarQuant, arXiv 2502.00527).
 * Keys only, after RoPE: a pair's radius hardly changes between tokens, and a large channel costs its own pair alone.
 * Block of T = 32 or 64 tokens (a page holds 64; the paper's groups have 128): for each pair f16 radius step, f16 smallest radius, f16 angle step, f16 smallest
 * angle; then codes [T][dim / 2], a byte a pair: radius in the high four bits, angle in the low. A code is the floor, and decodes to the middle of its cell. */
#include "codec.h"
#include "codec_util.h"
#include "polarpair.h"
#include <math.h>
#include <string.h>

enum { CODES = INGOT_POLARPAIR_CODES, LANES = INGOT_POLARPAIR_LANES, MAX_PAIRS = INGOT_MAX_HEAD_DIM / 2 };

/* The two channels of pair j. */
static int low(const ingot_kv_fmt *f, int j) { return f->adjacent_pairs ? 2 * j : j; }
static int high(const ingot_kv_fmt *f, int j) { return f->adjacent_pairs ? 2 * j + 1 : j + f->dim / 2; }

static int tokens(const ingot_kv_fmt *f) { return f->group; }

static size_t block_bytes(const ingot_kv_fmt *f) { return (size_t)f->dim * 4 + (size_t)f->group * (size_t)f->dim / 2; }

/* v [n] -> step and smallest value at `meta`, codes against them as they are after rounding. */
static void encode_affine(const float *v, int n, uint8_t *meta, uint8_t *code) {
    float lo = v[0], hi = v[0];
    for (int i = 1; i < n; i++) lo = fminf(lo, v[i]), hi = fmaxf(hi, v[i]);
    const uint16_t step = ingot_f32_to_f16((hi - lo) / CODES), least = ingot_f32_to_f16(lo);
    const float s = ingot_f16_to_f32(step), m = ingot_f16_to_f32(least);
    ingot_put_u16(meta, step);
    ingot_put_u16(meta + 2, least);
    for (int i = 0; i < n; i++) code[i] = s > 0.0f ? (uint8_t)fminf(fmaxf(floorf((v[i] - m) / s), 0.0f), CODES - 1) : 0;
}

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *block) {
    const int pairs = f->dim / 2;
    uint8_t *meta = block, *codes = meta + 8 * pairs + first * pairs;
    memset(block, 0, block_bytes(f));
    for (int j = 0; j < pairs && n > 0; j++) {
        float radius[INGOT_PAGE_TOKENS], angle[INGOT_PAGE_TOKENS];
        uint8_t radius_code[INGOT_PAGE_TOKENS], angle_code[INGOT_PAGE_TOKENS];
        for (int t = 0; t < n; t++) {
            const float *v = x + (first + t) * stride;
            const double a = (double)v[low(f, j)], b = (double)v[high(f, j)];
            radius[t] = (float)fmin(sqrt(a * a + b * b), (double)INGOT_F16_MAX);
            angle[t] = (float)ingot_angle(a, b);
        }
        encode_affine(radius, n, meta + 8 * j, radius_code);
        encode_affine(angle, n, meta + 8 * j + 4, angle_code);
        for (int t = 0; t < n; t++) codes[t * pairs + j] = (uint8_t)(radius_code[t] << 4 | angle_code[t]);
    }
}

static void decode(const ingot_kv_fmt *f, const void *block, float *x) {
    const int pairs = f->dim / 2;
    const uint8_t *meta = block, *codes = meta + 8 * pairs;
    for (int j = 0; j < pairs; j += LANES) {
        ingot_polarpair_tables p;
        ingot_polarpair_open(meta + 8 * j, &p);
        for (int t = 0; t < f->group; t++)
            for (int i = 0; i < LANES; i++) {
                const int code = codes[t * pairs + j + i];
                const float r = (float)(code >> 4) * p.step[i] + p.first[i];
                x[t * f->dim + low(f, j + i)] = r * p.cosine[code & 15][i];
                x[t * f->dim + high(f, j + i)] = r * p.sine[code & 15][i];
            }
    }
}

/* Prepared: the query as it is; tables depend on the block's angles. */
static size_t query_bytes(const ingot_kv_fmt *f) { return sizeof(float) * (size_t)f->dim; }

static void prepare(const ingot_kv_fmt *f, const float *q, void *prepared) { memcpy(prepared, q, query_bytes(f)); }

static void score(const ingot_kv_fmt *f, const void *prepared, const void *block, float *s) {
    const int pairs = f->dim / 2;
    const float *q = prepared;
    const uint8_t *meta = block, *codes = meta + 8 * pairs;
    float table[MAX_PAIRS][CODES], first[MAX_PAIRS], step[MAX_PAIRS];
    for (int j = 0; j < pairs; j += LANES) {
        ingot_polarpair_tables p;
        ingot_polarpair_open(meta + 8 * j, &p);
        for (int i = 0; i < LANES; i++) {
            first[j + i] = p.first[i], step[j + i] = p.step[i];
            for (int k = 0; k < CODES; k++) table[j + i][k] = q[low(f, j + i)] * p.cosine[k][i] + q[high(f, j + i)] * p.sine[k][i];
        }
    }
    for (int t = 0; t < f->group; t++) {
        float sum = 0.0f;
        for (int j = 0; j < pairs; j++) {
            const int code = codes[t * pairs + j];
            sum += ((float)(code >> 4) * step[j] + first[j]) * table[j][code & 15];
        }
        s[t] = sum;
    }
}

static const char *check(const ingot_kv_fmt *f) {
    if (f->group != 32 && f->group != INGOT_PAGE_TOKENS) return "groups have 32 or 64 tokens";
    return ingot_codec_check_dim(f);
}

static const int groups[] = {32, 64, 0};

const ingot_codec ingot_codec_polarpair = {
    .name = "polarpair", .source = "arXiv 2502.00527",
    .description = "4-bit radius and 4-bit angle of each RoPE pair, affine over a group of tokens (PolarQuant on pairs)",
    .sides = 1u << INGOT_SIDE_K, .default_group = 64, .groups = groups, .group_is_tokens = true, .options = "group=32|64", .needs = INGOT_CAL_NONE,
    .tokens = tokens, .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = check,
    .query_bytes = query_bytes, .prepare = prepare, .score = score,
};
