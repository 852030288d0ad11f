#include "../base/error.h"
#include "../base/row_ops.h"
#include "calibration_file.h"
#include <float.h>

int cal_compare(const cal_key *a, const cal_key *b) {
    for (int i = 0; i < CAL_KEY_PARTS; i++)
        if (a->part[i] != b->part[i]) return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

int cal_place(const cal_entry *entries, int n, const cal_key *key, bool *found) {
    int low = 0, high = n;
    *found = false;
    while (low < high) {
        const int middle = low + (high - low) / 2, order = cal_compare(&entries[middle].key, key);
        if (order == 0) *found = true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool is_permutation(const float *x, size_t n) {
    bool seen[INGOT_MAX_HEAD_DIM] = {false};
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] >= 0 && x[i] < (float)n) || x[i] != (float)(int)x[i] || seen[(int)x[i]]) return false;
        seen[(int)x[i]] = true;
    }
    return true;
}

static bool all_positive(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(x[i] >= FLT_MIN)) return false; /* so that the reciprocal is finite too */
    return true;
}

static bool all_finite(const float *x, size_t n) {
    const size_t step = 1 << 20;
    for (size_t i = 0; i < n; i += step)
        if (!ingot_row_ops_get()->finite(x + i, (int)(n - i < step ? n - i : step))) return false;
    return true;
}

static bool is_square_pair(size_t n) {
    for (size_t d = 1; d <= INGOT_MAX_HEAD_DIM; d++)
        if (n == 2 * d * d) return true;
    return false;
}

static const char *wrong_shape(const cal_entry *e) {
    const uint32_t kind = e->key.part[CAL_KIND], bits = e->key.part[CAL_BITS], group = e->key.part[CAL_GROUP];
    if (kind == INGOT_CAL_CODEBOOK) {
        if (bits < 1 || bits > 16 || group < 1 || group > INGOT_MAX_HEAD_DIM) return "has bits or a group out of range";
        return e->n == (size_t)group << bits ? NULL : "does not have group << bits elements";
    }
    if (bits || group) return "has bits or a group, which only codebooks have";
    if (kind == INGOT_CAL_WHITEN) return is_square_pair(e->n) ? NULL : "is not two square matrices of up to 512 rows";
    return e->n >= 1 && e->n <= INGOT_MAX_HEAD_DIM ? NULL : "is not a vector of 1 to 512 elements";
}

static const char *wrong_values(const cal_entry *e) {
    if (!all_finite(e->x, e->n)) return "holds an infinity or a NaN";
    if (e->key.part[CAL_KIND] == INGOT_CAL_SMOOTH && !all_positive(e->x, e->n)) return "holds a factor that is not positive";
    if (e->key.part[CAL_KIND] == INGOT_CAL_OUTLIERS && !is_permutation(e->x, e->n)) return "does not name every channel once";
    return NULL;
}

ingot_status cal_check(const cal_entry *e) {
    static const char *const names[] = {"mean", "smoothing", "channel order", "whitening", "filter", "codebook"};
    _Static_assert(sizeof names / sizeof *names == INGOT_N_CAL_KINDS, "a name for each kind");
    const uint32_t *part = e->key.part;
    if (part[CAL_KIND] >= INGOT_N_CAL_KINDS) return ingot_fail(INGOT_E_INVALID, "there is no kind %u of arrays", part[CAL_KIND]);
    if (part[CAL_VALUE] > 1 || part[CAL_LAYER] >= INGOT_MAX_LAYERS || part[CAL_HEAD] >= CAL_MAX_HEADS)
        return ingot_fail(INGOT_E_INVALID, "an array of side %u, layer %u, head %u is out of range", part[CAL_VALUE], part[CAL_LAYER], part[CAL_HEAD]);
    const char *why = wrong_shape(e);
    if (!why) why = wrong_values(e);
    if (!why) return INGOT_OK;
    return ingot_fail(INGOT_E_INVALID, "the %s of layer %u, %s head %u (%zu elements) %s", names[part[CAL_KIND]], part[CAL_LAYER],
                      part[CAL_VALUE] ? "V" : "K", part[CAL_HEAD], e->n, why);
}

bool cal_source_fine(const char *s, size_t n) {
    if (n > CAL_MAX_SOURCE) return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) return false;
    return true;
}
