/* What identifies a model's weights, and whether a calibration belongs to them. */
#include "model.h"
#include "../base/error.h"
#include "../base/hash.h"
#include "../calibration/fingerprint.h"
#include "../gguf/gguf_cursor.h"
#include <stdio.h>
#include <string.h>

static void compute(const ingot_model *m, uint8_t out[INGOT_HASH_BYTES]) {
    ingot_fingerprint f = {0};
    ingot_fingerprint_add(&f, m->architecture, strlen(m->architecture), 0, (const uint64_t[4]){0}, "", 0);
    for (int i = 0; i < ingot_gguf_tensor_count(m->gguf); i++) {
        const ingot_gguf_tensor *t = ingot_gguf_tensor_at(m->gguf, i);
        ingot_fingerprint_add(&f, t->name.p, t->name.n, t->type, t->dims, t->data, (size_t)t->bytes);
    }
    ingot_fingerprint_get(&f, out);
}

ingot_status ingot_model_fingerprint(const ingot_model *model, uint8_t out[16]) {
    if (!model || !out) return ingot_fail(INGOT_E_INVALID, "a fingerprint needs a model and a place");
    ingot_known_fingerprint *known = model->fingerprint;
    uint64_t half[2];
    _Static_assert(sizeof half == INGOT_HASH_BYTES, "two halves");
    if (!atomic_load(&known->known)) {
        compute(model, (uint8_t *)half);
        for (int i = 0; i < 2; i++) atomic_store(&known->half[i], half[i]);
        atomic_store(&known->known, true);
    }
    for (int i = 0; i < 2; i++) half[i] = atomic_load(&known->half[i]);
    memcpy(out, half, sizeof half);
    return INGOT_OK;
}

/* The first half of a fingerprint in hexadecimal digits. */
static const char *short_form(const uint8_t *fingerprint, char out[17]) {
    for (int i = 0; i < 8; i++) snprintf(out + 2 * i, 3, "%02x", fingerprint[i]);
    return out;
}

ingot_status ingot_model_check_calibration(const ingot_model *model, const ingot_calibration *calibration) {
    uint8_t own[INGOT_HASH_BYTES];
    char a[17], b[17], name[80];
    if (!calibration) return ingot_fail(INGOT_E_INVALID, "there is no calibration to check");
    INGOT_TRY(ingot_model_fingerprint(model, own));
    const uint8_t *its = ingot_calibration_fingerprint(calibration);
    if (!memcmp(own, its, sizeof own)) return INGOT_OK;
    const char *shown = gguf_printable(name, sizeof name, (ingot_str){model->name, strlen(model->name)});
    return ingot_fail(INGOT_E_INVALID, "the calibration (%s; weights %s) was made for another model than this one (%s; weights %s)",
                      ingot_calibration_source(calibration), short_form(its, a), shown, short_form(own, b));
}
