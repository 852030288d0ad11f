/* The layout of calibration files (docs/formats.md), shared by the reader and the writer. All numbers little-endian. */
#ifndef INGOT_CALIBRATION_FILE_H
#define INGOT_CALIBRATION_FILE_H
#include "../base/hash.h"
#include <ingot/calibration.h>

#define CAL_MAGIC "INGOTCAL"
enum {
    CAL_VERSION = 1,
    /* Header: where its fields lie. */
    CAL_AT_VERSION = 8, CAL_AT_ENTRIES = 12, CAL_AT_FINGERPRINT = 16, CAL_AT_SOURCE_BYTES = 32, CAL_AT_FILE_BYTES = 40, CAL_HEADER_BYTES = 48,
    /* Entry: six numbers of 32 bits (the key), then elements and offset in 64 bits. */
    CAL_AT_ELEMENTS = 24, CAL_AT_OFFSET = 32, CAL_ENTRY_BYTES = 40,
    CAL_ALIGN = 64,
    CAL_MAX_SOURCE = 1023, CAL_MAX_HEADS = 65536
};

/* What an array is of; entries are sorted by it. */
enum { CAL_KIND, CAL_BITS, CAL_GROUP, CAL_VALUE, CAL_LAYER, CAL_HEAD, CAL_KEY_PARTS };
typedef struct cal_key {
    uint32_t part[CAL_KEY_PARTS];
} cal_key;

typedef struct cal_entry {
    cal_key key;
    size_t n;
    const float *x;
} cal_entry;

/* Order of the keys: below, above or 0. */
int cal_compare(const cal_key *a, const cal_key *b);
/* The place of the key in n sorted entries, or where it would go. */
int cal_place(const cal_entry *entries, int n, const cal_key *key, bool *found);

/* Whether the array can be what its key says: known kind, shape, finite and sensible values. INGOT_E_INVALID naming the array and what is wrong. */
ingot_status cal_check(const cal_entry *e);
/* Whether it is one line of printable text. */
bool cal_source_fine(const char *s, size_t n);

/* Reads a file image: the tests' and the fuzzer's way in. The image is copied. */
ingot_status cal_open_memory(ingot_calibration **out, const void *data, size_t n);
#endif
