#include "tq_common.h"
#include "codec_util.h"
#include "pack.h"
#include <math.h>

const char *const ingot_tq_rules[] = {"paper", "matched", "ls", "unbiased", NULL};

/* Adds up partial sums: halves onto halves. */
static float fold(float part[INGOT_TQ_LANES]) {
    for (int n = INGOT_TQ_LANES / 2; n >= 1; n /= 2)
        for (int i = 0; i < n; i++) part[i] += part[i + n];
    return part[0];
}

/* Sums are of the vector times a power of two that brings its largest element to 1 or 2, so that no finite vector overflows or vanishes; element i goes into
 * partial sum i % 16 and these are folded, so that vector code has the same bits. Their errors (1e-7) are far below what the scale loses as f16 (2e-4). */
double ingot_tq_quantise(const ingot_tq_book *book, ingot_tq_rule rule, const float *x, int n, uint8_t *code) {
    float threshold[1 << INGOT_TQ_MAX_BITS], xx[INGOT_TQ_LANES] = {0}, cx[INGOT_TQ_LANES] = {0}, cc[INGOT_TQ_LANES] = {0}, top = 0.0f;
    const int half = 1 << book->bits >> 1;
    for (int k = 0; k + 1 < 1 << book->bits; k++) threshold[k] = (book->level[k] + book->level[k + 1]) * 0.5f;
    for (int i = 0; i < n; i++) top = fabsf(x[i]) > top ? fabsf(x[i]) : top;
    const float power = ingot_tq_power(top);
    for (int i = 0; i < n; i++) xx[i % INGOT_TQ_LANES] += (x[i] * power) * (x[i] * power);
    const float square = fold(xx), inverse = square > 0.0f ? sqrtf((float)n / square) : 0.0f;
    for (int i = 0; i < n; i++) {
        const float y = x[i] * power, u = y * inverse;
        int c = 0;
        for (int step = half; step; step /= 2) c += u >= threshold[c + step - 1] ? step : 0;
        const float level = book->level[c];
        code[i] = (uint8_t)c;
        cx[i % INGOT_TQ_LANES] += y * level, cc[i % INGOT_TQ_LANES] += level * level;
    }
    return ingot_tq_scale(rule, n, square, fold(cx), fold(cc), power);
}

void ingot_tq_encode(const ingot_tq_book *book, ingot_tq_rule rule, const float *x, int n, uint16_t *scale, uint8_t *codes) {
    uint8_t code[INGOT_MAX_HEAD_DIM];
    const double s = ingot_tq_quantise(book, rule, x, n, code);
    *scale = ingot_f32_to_f16((float)fmin(s, (double)INGOT_F16_MAX));
    ingot_pack_codes(code, n, book->bits, codes);
}

void ingot_tq_decode(const ingot_tq_book *book, uint16_t scale, const uint8_t *codes, int n, float *x) {
    uint8_t code[INGOT_MAX_HEAD_DIM];
    const float s = ingot_f16_to_f32(scale);
    ingot_unpack_codes(codes, n, book->bits, code);
    for (int i = 0; i < n; i++) x[i] = book->level[code[i]] * s;
}
