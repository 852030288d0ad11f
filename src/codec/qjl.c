/* qjl: signs of a random projection, with a sketch of its own for the channels that are large in a block of 32 tokens (Zandieh, Daliri, Han: QJL,
 * arXiv 2406.03482, and the settings of its published code). Keys only: what is estimated without bias is a score, not a vector.
 * Block: outlier channels [8] (a byte each, two where channels may exceed 255); f16 norms of the inlier parts [32], of the outlier parts [32];
 * inlier signs [32][rows_in / 8], outlier signs [32][rows_out / 8]. */
#include "qjl.h"
#include "../base/hadamard.h"
#include "codec_util.h"
#include <math.h>
#include <string.h>

enum { SEED = 0x514a4c }; /* of the matrix; apart from the seed of the Hadamard transform, which may come first */

void ingot_qjl_choose(ingot_qjl *q, double *energy) {
    bool taken[INGOT_MAX_HEAD_DIM] = {false};
    for (int n = 0; n < q->n_outliers; n++) {
        int best = 0;
        for (int i = 1; i < q->s.dim; i++)
            if (energy[i] > energy[best]) best = i;
        taken[best] = true, energy[best] = -1.0;
    }
    for (int i = 0, n = 0; i < q->s.dim; i++)
        if (taken[i]) q->outlier[n++] = i;
}

/* Signs do not see the length; taking it away first keeps sums of large keys finite. */
static void sketch_part(const ingot_qjl *q, const double *part, int rows, uint8_t *bits, double *norm) {
    float unit[INGOT_MAX_HEAD_DIM], y[INGOT_QJL_MAX_ROWS];
    ingot_sketch s = q->s;
    double square = 0.0;
    for (int i = 0; i < s.dim; i++) square += part[i] * part[i];
    *norm = sqrt(square);
    for (int i = 0; i < s.dim; i++) unit[i] = *norm > 0.0 ? (float)(part[i] / *norm) : 0.0f;
    s.rows = rows;
    ingot_sketch_apply(&s, y, unit);
    ingot_sketch_bits(bits, y, rows);
}

void ingot_qjl_encode(const ingot_qjl *q, const float *key, uint8_t *bits_in, uint8_t *bits_out, double *norm_in, double *norm_out) {
    double in[INGOT_MAX_HEAD_DIM], out[INGOT_MAX_HEAD_DIM] = {0};
    for (int i = 0; i < q->s.dim; i++) in[i] = (double)key[i];
    for (int i = 0; i < q->n_outliers; i++) out[q->outlier[i]] = in[q->outlier[i]], in[q->outlier[i]] = 0.0;
    sketch_part(q, in, q->rows_in, bits_in, norm_in);
    sketch_part(q, out, q->rows_out, bits_out, norm_out);
}

void ingot_qjl_decode(const ingot_qjl *q, float *key, const uint8_t *bits_in, const uint8_t *bits_out, float norm_in, float norm_out) {
    float out[INGOT_MAX_HEAD_DIM];
    const float scale_in = INGOT_SQRT_HALF_PI / (float)q->rows_in * norm_in, scale_out = INGOT_SQRT_HALF_PI / (float)q->rows_out * norm_out;
    ingot_sketch_back(&q->s, key, bits_in, q->rows_in);
    ingot_sketch_back(&q->s, out, bits_out, q->rows_out);
    for (int i = 0; i < q->s.dim; i++) key[i] *= scale_in;
    for (int i = 0; i < q->n_outliers; i++) key[q->outlier[i]] = scale_out * out[q->outlier[i]];
}

void ingot_qjl_split(const ingot_qjl *q, const float *query, const float *sq, float *in, float *out) {
    float part[INGOT_MAX_HEAD_DIM] = {0}, share[INGOT_QJL_MAX_ROWS];
    for (int i = 0; i < q->n_outliers; i++) part[q->outlier[i]] = query[q->outlier[i]];
    ingot_sketch_apply(&q->s, share, part);
    for (int i = 0; i < q->rows_in; i++) in[i] = sq[i] - share[i];
    memcpy(out, share, sizeof(float) * (size_t)q->rows_out);
}

float ingot_qjl_score(const ingot_qjl *q, const float *in, const float *out, const uint8_t *bits_in, const uint8_t *bits_out, float norm_in, float norm_out) {
    return INGOT_SQRT_HALF_PI / (float)q->rows_in * norm_in * ingot_sketch_dot(bits_in, in, q->rows_in) +
           INGOT_SQRT_HALF_PI / (float)q->rows_out * norm_out * ingot_sketch_dot(bits_out, out, q->rows_out);
}

/* Rows of the sketches in units of dim: what the published code uses for most layers, and for the first fifteen. */
static const char *const variants[] = {"2", "4", NULL};

static ingot_qjl plain(const ingot_kv_fmt *f) {
    const int in = f->dim * (f->variant == 0 ? 2 : 4), out = f->dim * (f->variant == 0 ? 2 : 1);
    return (ingot_qjl){{in > out ? in : out, f->dim, SEED, NULL}, in, out, INGOT_QJL_OUTLIERS, {0}};
}

ingot_qjl_layout ingot_qjl_layout_of(const ingot_kv_fmt *f) {
    const ingot_qjl q = plain(f);
    ingot_qjl_layout l = {.index_bytes = f->dim > 256 ? 2 : 1};
    l.norms = (size_t)l.index_bytes * INGOT_QJL_OUTLIERS;
    l.bits_in = l.norms + (size_t)2 * 2 * INGOT_QJL_TOKENS;
    l.bits_out = l.bits_in + (size_t)INGOT_QJL_TOKENS * (size_t)q.rows_in / 8;
    l.bytes = l.bits_out + (size_t)INGOT_QJL_TOKENS * (size_t)q.rows_out / 8;
    return l;
}

static int tokens(const ingot_kv_fmt *f) {
    (void)f;
    return INGOT_QJL_TOKENS;
}

static size_t block_bytes(const ingot_kv_fmt *f) { return ingot_qjl_layout_of(f).bytes; }

static uint16_t half_of(double norm) { return ingot_f32_to_f16((float)fmin(norm, (double)INGOT_F16_MAX)); }

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *block) {
    const ingot_qjl_layout l = ingot_qjl_layout_of(f);
    ingot_qjl q = plain(f);
    double energy[INGOT_MAX_HEAD_DIM] = {0};
    uint8_t *b = block;
    memset(b, 0, l.bytes);
    if (n <= 0) return;
    for (int t = first; t < first + n; t++)
        for (int i = 0; i < f->dim; i++) energy[i] += (double)x[t * stride + i] * (double)x[t * stride + i];
    ingot_qjl_choose(&q, energy);
    for (int i = 0; i < INGOT_QJL_OUTLIERS; i++) {
        b[i * l.index_bytes] = (uint8_t)q.outlier[i];
        if (l.index_bytes == 2) b[2 * i + 1] = (uint8_t)(q.outlier[i] >> 8);
    }
    for (int t = first; t < first + n; t++) {
        double norm_in, norm_out;
        ingot_qjl_encode(&q, x + t * stride, b + l.bits_in + t * (q.rows_in / 8), b + l.bits_out + t * (q.rows_out / 8), &norm_in, &norm_out);
        ingot_put_u16(b + l.norms + 2 * t, half_of(norm_in));
        ingot_put_u16(b + l.norms + 2 * (INGOT_QJL_TOKENS + t), half_of(norm_out));
    }
}

ingot_qjl ingot_qjl_open(const ingot_kv_fmt *f, const ingot_qjl_layout *l, const uint8_t *b) {
    ingot_qjl q = plain(f);
    for (int i = 0; i < INGOT_QJL_OUTLIERS; i++) {
        const int c = l->index_bytes == 2 ? ingot_get_u16(b + 2 * i) : b[i];
        q.outlier[i] = c < f->dim ? c : f->dim - 1;
    }
    return q;
}

static float norm_at(const ingot_qjl_layout *l, const uint8_t *b, int i) { return ingot_f16_to_f32(ingot_get_u16(b + l->norms + 2 * i)); }

static void decode(const ingot_kv_fmt *f, const void *block, float *x) {
    const ingot_qjl_layout l = ingot_qjl_layout_of(f);
    const uint8_t *b = block;
    const ingot_qjl q = ingot_qjl_open(f, &l, b);
    for (int t = 0; t < INGOT_QJL_TOKENS; t++)
        ingot_qjl_decode(&q, x + t * f->dim, b + l.bits_in + t * (q.rows_in / 8), b + l.bits_out + t * (q.rows_out / 8), norm_at(&l, b, t),
                         norm_at(&l, b, INGOT_QJL_TOKENS + t));
}

/* Prepared: the query, which every block splits along its own outlier channels, then S query. */
static size_t query_bytes(const ingot_kv_fmt *f) { return sizeof(float) * (size_t)(f->dim + plain(f).s.rows); }

static void prepare(const ingot_kv_fmt *f, const float *q, void *prepared) {
    const ingot_qjl shape = plain(f);
    float *p = prepared;
    memcpy(p, q, sizeof(float) * (size_t)f->dim);
    ingot_sketch_apply(&shape.s, p + f->dim, q);
}

static void score(const ingot_kv_fmt *f, const void *prepared, const void *block, float *s) {
    const ingot_qjl_layout l = ingot_qjl_layout_of(f);
    const uint8_t *b = block;
    const float *query = prepared;
    const ingot_qjl q = ingot_qjl_open(f, &l, b);
    float in[INGOT_QJL_MAX_ROWS], out[INGOT_QJL_MAX_ROWS];
    ingot_qjl_split(&q, query, query + f->dim, in, out);
    for (int t = 0; t < INGOT_QJL_TOKENS; t++)
        s[t] = ingot_qjl_score(&q, in, out, b + l.bits_in + t * (q.rows_in / 8), b + l.bits_out + t * (q.rows_out / 8), norm_at(&l, b, t),
                               norm_at(&l, b, INGOT_QJL_TOKENS + t));
}

static const char *check(const ingot_kv_fmt *f) {
    if (!ingot_hadamard_exists(f->dim)) return "the sketch is made of Hadamard matrices: the head size must be 2^k times at most two of 12, 20 and 28";
    return ingot_codec_check_dim(f);
}

static const int groups[] = {INGOT_QJL_TOKENS, 0};

const ingot_codec ingot_codec_qjl = {
    .name = "qjl", .source = "arXiv 2406.03482",
    .description = "signs of a random projection, outlier channels of 32 tokens apart (QJL)",
    .sides = 1u << INGOT_SIDE_K, .default_group = INGOT_QJL_TOKENS, .groups = groups, .group_is_tokens = true,
    .variant_key = "sketch", .variants = variants, .options = "sketch=2|4", .needs = INGOT_CAL_NONE,
    .tokens = tokens, .block_bytes = block_bytes, .encode = encode, .decode = decode, .check = check,
    .query_bytes = query_bytes, .prepare = prepare, .score = score,
};
