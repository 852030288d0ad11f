#include "tq_common.h"
#include "codec_util.h"
#include "pack.h"
#include <math.h>

const char *const ingot_tq_rules[] = {"paper", "matched", "ls", "unbiased", NULL};

/* Sums in double: no finite vector overflows or vanishes, and unbiased means unbiased. <c, x> is positive unless x is 0, because every level has
 * the sign of its coordinate. */
static double scale_of(ingot_tq_rule rule, int n, double xx, double cx, double cc) {
    if (xx == 0) return 0;
    switch (rule) {
    case INGOT_TQ_PAPER: break;
    case INGOT_TQ_MATCHED: return sqrt(xx / cc);
    case INGOT_TQ_LS: return cx / cc;
    case INGOT_TQ_UNBIASED: return xx / cx;
    }
    return sqrt(xx / n);
}

double ingot_tq_quantise(const ingot_tq_book *book, ingot_tq_rule rule, const float *x, int n, uint8_t *code) {
    float threshold[1 << INGOT_TQ_MAX_BITS];
    const int half = 1 << book->bits >> 1;
    double xx = 0, cx = 0, cc = 0;
    for (int k = 0; k + 1 < 1 << book->bits; k++) threshold[k] = (book->level[k] + book->level[k + 1]) * 0.5f;
    for (int i = 0; i < n; i++) xx += (double)x[i] * (double)x[i];
    const double inverse = xx > 0 ? sqrt(n / xx) : 0;
    for (int i = 0; i < n; i++) {
        const float u = (float)((double)x[i] * inverse);
        int c = 0;
        for (int step = half; step; step /= 2) c += u >= threshold[c + step - 1] ? step : 0;
        const double level = (double)book->level[c];
        code[i] = (uint8_t)c;
        cx += (double)x[i] * level, cc += level * level;
    }
    return scale_of(rule, n, xx, cx, cc);
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
