#include "../base/alloc.h"
#include "../base/checked.h"
#include "../base/error.h"
#include "../base/le.h"
#include "../base/read_file.h"
#include "calibration_file.h"
#include <stdio.h>
#include <string.h>

/* The arrays are read from a copy that is checked once: a file that changes later changes nothing. */
struct ingot_calibration {
    uint8_t *image;
    size_t bytes;
    cal_entry *entries; /* sorted by key */
    int n_entries;
    char source[CAL_MAX_SOURCE + 1];
};

static ingot_status check_header(const uint8_t *p, size_t n) {
    if (n < sizeof CAL_MAGIC - 1 || memcmp(p, CAL_MAGIC, sizeof CAL_MAGIC - 1)) return ingot_fail(INGOT_E_FORMAT, "is not a calibration");
    if (n < CAL_HEADER_BYTES + INGOT_HASH_BYTES) return ingot_fail(INGOT_E_FORMAT, "is cut off after %zu bytes", n);
    const uint32_t version = ingot_le_u32(p + CAL_AT_VERSION);
    if (version != CAL_VERSION)
        return ingot_fail(INGOT_E_UNSUPPORTED, "is a calibration of version %u; this build reads version %d", version, CAL_VERSION);
    const uint64_t bytes = ingot_le_u64(p + CAL_AT_FILE_BYTES);
    if (bytes != n) return ingot_fail(INGOT_E_FORMAT, "has %zu bytes where %llu belong (an interrupted copy?)", n, (unsigned long long)bytes);
    uint8_t hash[INGOT_HASH_BYTES];
    ingot_hash(hash, p, n - INGOT_HASH_BYTES);
    if (memcmp(hash, p + n - INGOT_HASH_BYTES, INGOT_HASH_BYTES)) return ingot_fail(INGOT_E_FORMAT, "is damaged: its checksum is wrong");
    return INGOT_OK;
}

static uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

static bool all_zero(const uint8_t *p, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++)
        if (p[i]) return false;
    return true;
}

/* Reads entry i, whose array must begin where *at, rounded up, says, and moves *at behind it. `end` is where arrays end. */
static ingot_status read_entry(ingot_calibration *c, int i, const uint8_t *p, uint64_t *at, uint64_t end) {
    cal_entry *e = &c->entries[i];
    uint64_t n = ingot_le_u64(p + CAL_AT_ELEMENTS), bytes, stop;
    const uint64_t start = round_up(*at, CAL_ALIGN);
    for (int k = 0; k < CAL_KEY_PARTS; k++) e->key.part[k] = ingot_le_u32(p + 4 * k);
    if (i > 0 && cal_compare(&e[-1].key, &e->key) >= 0) return ingot_fail(INGOT_E_FORMAT, "entry %d is out of order or given twice", i);
    if (ingot_le_u64(p + CAL_AT_OFFSET) != start) return ingot_fail(INGOT_E_FORMAT, "entry %d does not begin behind the one before", i);
    if (!ingot_mul_u64(n, sizeof(float), &bytes) || !ingot_add_u64(start, bytes, &stop) || stop > end)
        return ingot_fail(INGOT_E_FORMAT, "entry %d reaches beyond the file's end", i);
    if (!all_zero(c->image, *at, start)) return ingot_fail(INGOT_E_FORMAT, "the gap in front of entry %d is not zero", i);
    e->n = (size_t)n;
    e->x = (const float *)(const void *)(c->image + start);
    *at = stop;
    return cal_check(e) == INGOT_OK ? INGOT_OK : INGOT_E_FORMAT; /* the message is the check's */
}

static ingot_status read_image(ingot_calibration *c) {
    const uint8_t *p = c->image;
    INGOT_TRY(check_header(p, c->bytes));
    const uint64_t end = c->bytes - INGOT_HASH_BYTES, source = ingot_le_u32(p + CAL_AT_SOURCE_BYTES), n = ingot_le_u32(p + CAL_AT_ENTRIES);
    const uint64_t table = round_up(CAL_HEADER_BYTES + source, 8);
    if (ingot_le_u32(p + CAL_AT_SOURCE_BYTES + 4)) return ingot_fail(INGOT_E_FORMAT, "the header's last field is not zero");
    if (table > end || n > (end - table) / CAL_ENTRY_BYTES || n > INT32_MAX)
        return ingot_fail(INGOT_E_FORMAT, "its table reaches beyond the file's end");
    if (!cal_source_fine((const char *)p + CAL_HEADER_BYTES, source)) return ingot_fail(INGOT_E_FORMAT, "its source is not a line of text");
    if (!all_zero(p, CAL_HEADER_BYTES + source, table)) return ingot_fail(INGOT_E_FORMAT, "the gap in front of its table is not zero");
    memcpy(c->source, p + CAL_HEADER_BYTES, source);
    c->entries = ingot_alloc_array(n, sizeof *c->entries, INGOT_MEM_OTHER);
    if (!c->entries) return ingot_fail(INGOT_E_NOMEM, "no memory for a table of %u entries", (unsigned)n);
    c->n_entries = (int)n;
    uint64_t at = table + n * CAL_ENTRY_BYTES;
    for (int i = 0; i < c->n_entries; i++) INGOT_TRY(read_entry(c, i, p + table + (uint64_t)i * CAL_ENTRY_BYTES, &at, end));
    return at == end ? INGOT_OK : ingot_fail(INGOT_E_FORMAT, "has %llu bytes behind its last array", (unsigned long long)(end - at));
}

/* Takes the image over, also on failure. */
static ingot_status open_image(ingot_calibration **out, uint8_t *image, size_t n) {
    ingot_calibration *c = ingot_alloc(sizeof *c, INGOT_MEM_OTHER);
    if (!c) {
        ingot_dealloc(image);
        return ingot_fail(INGOT_E_NOMEM, "no memory for a calibration");
    }
    c->image = image, c->bytes = n;
    const ingot_status s = read_image(c);
    if (s == INGOT_OK) *out = c;
    else ingot_calibration_close(c);
    return s;
}

ingot_status cal_open_memory(ingot_calibration **out, const void *data, size_t n) {
    *out = NULL;
    uint8_t *image = ingot_alloc(n, INGOT_MEM_OTHER);
    if (!image) return ingot_fail(INGOT_E_NOMEM, "no memory for %zu bytes", n);
    if (n) memcpy(image, data, n);
    return open_image(out, image, n);
}

ingot_status ingot_calibration_open(ingot_calibration **out, const char *path) {
    uint8_t *image;
    size_t n;
    *out = NULL;
    ingot_status s = ingot_read_file(&image, &n, path);
    if (s == INGOT_OK) s = open_image(out, image, n);
    return s == INGOT_OK ? s : ingot_fail_prefix(s, "%s", path);
}

void ingot_calibration_close(ingot_calibration *c) {
    if (!c) return;
    ingot_dealloc(c->entries);
    ingot_dealloc(c->image);
    ingot_dealloc(c);
}

const uint8_t *ingot_calibration_fingerprint(const ingot_calibration *c) { return c->image + CAL_AT_FINGERPRINT; }
const uint8_t *ingot_calibration_checksum(const ingot_calibration *c) { return c->image + c->bytes - INGOT_HASH_BYTES; }
const char *ingot_calibration_source(const ingot_calibration *c) { return c->source; }

const float *ingot_calibration_get(const ingot_calibration *c, int kind, int bits, int group, bool value, int layer, int head, size_t *n) {
    const cal_key key = {{(uint32_t)kind, (uint32_t)bits, (uint32_t)group, value, (uint32_t)layer, (uint32_t)head}};
    bool found;
    const int i = cal_place(c->entries, c->n_entries, &key, &found);
    if (!found) return NULL;
    if (n) *n = c->entries[i].n;
    return c->entries[i].x;
}
