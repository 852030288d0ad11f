/* polar: recursive polar coordinates of blocks of 16 channels (Han, Kacham, Karbasi, Mirrokni, Zandieh: PolarQuant, arXiv 2502.02617). Level 1 turns pairs
 * into angles in [0, 2 pi) and radii, each further level pairs of radii into angles in [0, pi / 2] and one radius: 8 + 4 + 2 + 1 angles of 4, 2, 2, 2 bits.
 * The vector should have been rotated first; the codebooks are those of Gaussian channels (Lloyd-Max on the angles' densities).
 * Row: f16 radius [dim / 16]; level 1 codes, 4 bits [dim / 2]; then 2-bit codes of levels 2 [dim / 4], 3 [dim / 8], 4 [dim / 16] as one stream; all least
 * significant bit first. 62 bits a block. */
#include "polar.h"
#include "codec.h"
#include "codec_util.h"
#include <math.h>
#include <string.h>

enum { BLOCK = INGOT_POLAR_BLOCK };

/* Where the codes of a level start. */
static const int level_at[INGOT_POLAR_LEVELS + 1] = {0, 0, 8, 12, 14};

#define A 0.98078528f
#define B 0.83146961f
#define C 0.55557023f
#define D 0.19509032f
const float ingot_polar_wave[20] = {D, C, B, A, A, B, C, D, -D, -C, -B, -A, -A, -B, -C, -D, D, C, B, A};
#undef A
#undef B
#undef C
#undef D
/* The centroids of levels 2 to 4 are symmetric about pi / 4. */
const float ingot_polar_cosine[3][4] = {
    {0.95240794f, 0.80567618f, 0.59235623f, 0.30482637f}, {0.91052275f, 0.78109112f, 0.62441706f, 0.41345898f}, {0.86571758f, 0.76102191f, 0.64872618f, 0.50053278f}};
/* Tangents of the thresholds. */
static const double tangent[3][3] = {
    {0.510318355669, 1.0, 1.959561103165}, {0.613541933195, 1.0, 1.629880446463}, {0.706480025951, 1.0, 1.415468184899}};

/* E<x^, x> / |x|^2 for Gaussian channels: the product of E cos(error) over the levels, .9935869 .9950546 .9969241 .9983053. */
static const double SHRINK = 0.983961752311;

/* floor(angle 8 / pi) of (a, b), angle in [0, 2 pi): turned into the first quadrant, then compared with the tangents of pi / 8, pi / 4, 3 pi / 8. */
static int sector(double a, double b) {
    int quadrant = 0;
    double x = a, y = b;
    if (a <= 0.0 && b > 0.0) quadrant = 1, x = b, y = -a;
    else if (a < 0.0 && b <= 0.0) quadrant = 2, x = -a, y = -b;
    else if (a >= 0.0 && b < 0.0) quadrant = 3, x = -b, y = a;
    if (x == 0.0) return 0;
    return quadrant * 4 + (y >= 0.41421356237309505 * x) + (y >= x) + (y >= 2.41421356237309505 * x);
}

double ingot_polar_codes(const float *y, uint8_t *code) {
    double r[BLOCK];
    for (int i = 0; i < BLOCK; i++) r[i] = (double)y[i];
    for (int level = 1; level <= INGOT_POLAR_LEVELS; level++)
        for (int j = 0; j < BLOCK >> level; j++) {
            const double a = r[2 * j], b = r[2 * j + 1];
            const double *t = tangent[level > 1 ? level - 2 : 0];
            code[level_at[level] + j] = (uint8_t)(level == 1 ? sector(a, b) : (b > t[0] * a) + (b > t[1] * a) + (b > t[2] * a));
            r[j] = sqrt(a * a + b * b);
        }
    return r[0];
}

void ingot_polar_expand(const uint8_t *code, float radius, float *y) {
    y[0] = radius;
    for (int level = INGOT_POLAR_LEVELS; level >= 1; level--)
        for (int j = (BLOCK >> level) - 1; j >= 0; j--) {
            const int k = code[level_at[level] + j];
            const float r = y[j], c = level == 1 ? ingot_polar_wave[k + 4] : ingot_polar_cosine[level - 2][k], s = level == 1 ? ingot_polar_wave[k] : ingot_polar_cosine[level - 2][3 - k];
            y[2 * j] = r * c, y[2 * j + 1] = r * s;
        }
}

void ingot_polar_table(const float *q, float *t) {
    for (int j = 0; j < BLOCK / 2; j++)
        for (int k = 0; k < 16; k++) t[16 * j + k] = q[2 * j] * ingot_polar_wave[k + 4] + q[2 * j + 1] * ingot_polar_wave[k];
}

void ingot_polar_contract(int level, const uint8_t *code, float *t) {
    for (int j = 0; j < BLOCK >> level; j++) {
        const int k = code[level_at[level] + j];
        t[j] = ingot_polar_cosine[level - 2][k] * t[2 * j] + ingot_polar_cosine[level - 2][3 - k] * t[2 * j + 1];
    }
}

static size_t row_bytes(const ingot_kv_fmt *f) { return ((size_t)f->dim / BLOCK * 62 + 7) / 8; }

/* Code i of the 2-bit stream of n blocks that is angle `at` (8 and up) of block b. */
static int stream_index(int n, int b, int at) {
    const int level = at < 12 ? 2 : at < 14 ? 3 : 4, per_block = BLOCK >> level;
    return n * (level_at[level] - 8) + b * per_block + at - level_at[level];
}

static void encode(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n_tokens, void *row) {
    (void)stride, (void)first, (void)n_tokens;
    const int n = f->dim / BLOCK;
    uint8_t *radius = row, *fine = radius + 2 * n, *coarse = fine + 4 * n;
    memset(row, 0, row_bytes(f));
    for (int b = 0; b < n; b++) {
        uint8_t code[INGOT_POLAR_ANGLES];
        double r = ingot_polar_codes(x + BLOCK * b, code);
        if (f->side == INGOT_SIDE_K) r /= SHRINK;
        ingot_put_u16(radius + 2 * b, ingot_f32_to_f16((float)fmin(r, (double)INGOT_F16_MAX)));
        for (int i = 0; i < 8; i++) fine[4 * b + i / 2] |= (uint8_t)(code[i] << i % 2 * 4);
        for (int i = 8; i < INGOT_POLAR_ANGLES; i++) {
            const int at = stream_index(n, b, i);
            coarse[at / 4] |= (uint8_t)(code[i] << at % 4 * 2);
        }
    }
}

static void unpack(const uint8_t *row, int n, int b, uint8_t *code) {
    const uint8_t *fine = row + 2 * n + 4 * b, *coarse = row + 6 * n;
    for (int i = 0; i < 8; i++) code[i] = fine[i / 2] >> i % 2 * 4 & 15;
    for (int i = 8; i < INGOT_POLAR_ANGLES; i++) {
        const int at = stream_index(n, b, i);
        code[i] = coarse[at / 4] >> at % 4 * 2 & 3;
    }
}

static void decode(const ingot_kv_fmt *f, const void *row, float *x) {
    const int n = f->dim / BLOCK;
    for (int b = 0; b < n; b++) {
        uint8_t code[INGOT_POLAR_ANGLES];
        unpack(row, n, b, code);
        ingot_polar_expand(code, ingot_f16_to_f32(ingot_get_u16((const uint8_t *)row + 2 * b)), x + BLOCK * b);
    }
}

/* Prepared: the tables of level 1. */
static size_t query_bytes(const ingot_kv_fmt *f) { return sizeof(float) * (size_t)f->dim * 8; }

static void prepare(const ingot_kv_fmt *f, const float *q, void *prepared) {
    for (int b = 0; b < f->dim / BLOCK; b++) ingot_polar_table(q + BLOCK * b, (float *)prepared + 128 * b);
}

static void score(const ingot_kv_fmt *f, const void *prepared, const void *row, float *s) {
    const int n = f->dim / BLOCK;
    const float *table = prepared;
    float sum = 0.0f;
    for (int b = 0; b < n; b++, table += 128) {
        uint8_t code[INGOT_POLAR_ANGLES];
        float t[8];
        unpack(row, n, b, code);
        for (int j = 0; j < 8; j++) t[j] = table[16 * j + code[j]];
        for (int level = 2; level <= INGOT_POLAR_LEVELS; level++) ingot_polar_contract(level, code, t);
        sum += ingot_f16_to_f32(ingot_get_u16((const uint8_t *)row + 2 * b)) * t[0];
    }
    *s = sum;
}

const ingot_codec ingot_codec_polar = {
    .name = "polar", .source = "arXiv 2502.02617",
    .description = "recursive polar angles of 4, 2, 2, 2 bits and a radius per 16 channels (PolarQuant); rotate first",
    .sides = INGOT_BOTH_SIDES, .options = "", .needs = INGOT_CAL_NONE,
    .block_bytes = row_bytes, .encode = encode, .decode = decode, .check = ingot_codec_check_dim,
    .query_bytes = query_bytes, .prepare = prepare, .score = score,
};
