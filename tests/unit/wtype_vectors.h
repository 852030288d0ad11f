/* The golden blocks of every weight format (tests/golden/make_wtype.py). */
#ifndef INGOT_TEST_WTYPE_VECTORS_H
#define INGOT_TEST_WTYPE_VECTORS_H
#include "gguf/wtype.h"

typedef struct wtype_vector {
    const ingot_wtype_info *w;
    uint32_t n;            /* elements */
    const uint8_t *blocks; /* not aligned */
    const uint8_t *want;   /* f32 [n], not aligned */
} wtype_vector;

/* Walks the records: *at = 0 at first; false at the end, with a failed check when the file is missing or broken. */
bool wtype_vector_next(size_t *at, wtype_vector *v);
#endif
