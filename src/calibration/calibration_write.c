#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/le.h"
#include "calibration_file.h"
#include <ingot/file.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct ingot_calibration_writer {
    uint8_t fingerprint[16];
    char source[CAL_MAX_SOURCE + 1];
    cal_entry *entries; /* sorted; arrays owned */
    int n_entries, room;
};

ingot_status ingot_calibration_writer_create(ingot_calibration_writer **out, const uint8_t fingerprint[16], const char *source) {
    *out = NULL;
    const size_t n = strlen(source);
    if (!cal_source_fine(source, n))
        return ingot_fail(INGOT_E_INVALID, "a calibration's source must be one line of at most %d bytes", CAL_MAX_SOURCE);
    ingot_calibration_writer *w = ingot_alloc(sizeof *w, INGOT_MEM_OTHER);
    if (!w) return ingot_fail(INGOT_E_NOMEM, "no memory for a calibration");
    memcpy(w->fingerprint, fingerprint, sizeof w->fingerprint);
    memcpy(w->source, source, n);
    *out = w;
    return INGOT_OK;
}

static bool grow(ingot_calibration_writer *w) {
    if (w->n_entries < w->room) return true;
    if (w->room > INT32_MAX / 2) return false;
    const int room = w->room ? 2 * w->room : 64;
    cal_entry *p = ingot_realloc(w->entries, (size_t)room * sizeof *p, INGOT_MEM_OTHER);
    if (!p) return false;
    w->entries = p, w->room = room;
    return true;
}

ingot_status ingot_calibration_writer_add(ingot_calibration_writer *w, int kind, int bits, int group, bool value, int layer, int head, const float *x,
                                          size_t n) {
    cal_entry e = {{{(uint32_t)kind, (uint32_t)bits, (uint32_t)group, value, (uint32_t)layer, (uint32_t)head}}, n, x};
    bool found;
    INGOT_TRY(cal_check(&e));
    const int i = cal_place(w->entries, w->n_entries, &e.key, &found);
    if (found) return ingot_fail(INGOT_E_INVALID, "an array of kind %d of layer %d, head %d is added twice", kind, layer, head);
    float *copy = ingot_alloc_array(n, sizeof *copy, INGOT_MEM_OTHER);
    if (!copy || !grow(w)) {
        ingot_dealloc(copy);
        return ingot_fail(INGOT_E_NOMEM, "no memory for an array of %zu elements", n);
    }
    memcpy(copy, x, n * sizeof *copy);
    e.x = copy;
    memmove(w->entries + i + 1, w->entries + i, sizeof e * (size_t)(w->n_entries - i));
    w->entries[i] = e;
    w->n_entries++;
    return INGOT_OK;
}

static size_t round_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

/* Bytes of the file. All arrays are in memory, so that the sum cannot overflow. */
static size_t file_bytes(const ingot_calibration_writer *w, size_t table) {
    size_t at = table + (size_t)w->n_entries * CAL_ENTRY_BYTES;
    for (int i = 0; i < w->n_entries; i++) at = round_up(at, CAL_ALIGN) + w->entries[i].n * sizeof(float);
    return at + INGOT_HASH_BYTES;
}

/* image: zeroed, of file_bytes. */
static void fill(const ingot_calibration_writer *w, uint8_t *image, size_t table, size_t bytes) {
    const size_t source = strlen(w->source);
    memcpy(image, CAL_MAGIC, sizeof CAL_MAGIC - 1);
    ingot_le_put_u32(image + CAL_AT_VERSION, CAL_VERSION);
    ingot_le_put_u32(image + CAL_AT_ENTRIES, (uint32_t)w->n_entries);
    memcpy(image + CAL_AT_FINGERPRINT, w->fingerprint, sizeof w->fingerprint);
    ingot_le_put_u32(image + CAL_AT_SOURCE_BYTES, (uint32_t)source);
    ingot_le_put_u64(image + CAL_AT_FILE_BYTES, bytes);
    memcpy(image + CAL_HEADER_BYTES, w->source, source);
    size_t at = table + (size_t)w->n_entries * CAL_ENTRY_BYTES;
    for (int i = 0; i < w->n_entries; i++) {
        const cal_entry *e = &w->entries[i];
        uint8_t *row = image + table + (size_t)i * CAL_ENTRY_BYTES;
        at = round_up(at, CAL_ALIGN);
        for (int k = 0; k < CAL_KEY_PARTS; k++) ingot_le_put_u32(row + 4 * k, e->key.part[k]);
        ingot_le_put_u64(row + CAL_AT_ELEMENTS, e->n);
        ingot_le_put_u64(row + CAL_AT_OFFSET, at);
        memcpy(image + at, e->x, e->n * sizeof(float));
        at += e->n * sizeof(float);
    }
    ingot_hash(image + at, image, at);
}

ingot_status ingot_calibration_target_check(const char *path) {
    char magic[sizeof CAL_MAGIC - 1];
    INGOT_TRY(ingot_replace_file_check(path));
    FILE *f = fopen(path, "rbe");
    if (!f) return errno == ENOENT ? INGOT_OK : ingot_fail(INGOT_E_IO, "%s: cannot look whether it is a calibration: %s", path, strerror(errno));
    const size_t n = fread(magic, 1, sizeof magic, f);
    fclose(f);
    if (!n || (n == sizeof magic && !memcmp(magic, CAL_MAGIC, sizeof magic))) return INGOT_OK;
    return ingot_fail(INGOT_E_INVALID, "%s: is there and is no calibration, so it is not overwritten", path);
}

ingot_status ingot_calibration_writer_save(ingot_calibration_writer *w, const char *path) {
    INGOT_TRY(ingot_calibration_target_check(path));
    const size_t table = round_up(CAL_HEADER_BYTES + strlen(w->source), 8), bytes = file_bytes(w, table);
    uint8_t *image = ingot_alloc(bytes, INGOT_MEM_OTHER);
    if (!image) return ingot_fail(INGOT_E_NOMEM, "no memory for a calibration of %zu bytes", bytes);
    fill(w, image, table, bytes);
    const ingot_status s = ingot_replace_file(path, image, bytes);
    ingot_dealloc(image);
    return s;
}

void ingot_calibration_writer_destroy(ingot_calibration_writer *w) {
    if (!w) return;
    for (int i = 0; i < w->n_entries; i++) ingot_dealloc((void *)(uintptr_t)w->entries[i].x);
    ingot_dealloc(w->entries);
    ingot_dealloc(w);
}
