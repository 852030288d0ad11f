/* libFuzzer target: any bytes as a calibration. The size and the checksum are made right first, or nothing would get past them.
 * Seeds: seeds/fuzz_calibration/, written by make_calibration_seeds.py. */
#include "base/hash.h"
#include "base/le.h"
#include "calibration/calibration_file.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile float sink;

static void read_all(const ingot_calibration *c) {
    for (int kind = INGOT_CAL_NONE; kind <= INGOT_N_CAL_KINDS; kind++)
        for (int place = 0; place < 8; place++) {
            size_t n = 0;
            const float *x = ingot_calibration_get(c, kind, kind == INGOT_CAL_CODEBOOK ? 2 : 0, kind == INGOT_CAL_CODEBOOK ? 2 : 0, place & 1, place / 2 % 3,
                                                   place / 6, &n);
            for (size_t i = 0; x && i < n; i++) sink += x[i];
            if (x && kind == INGOT_CAL_OUTLIERS)
                for (size_t i = 0; i < n; i++)
                    if (x[i] < 0 || x[i] >= (float)n) __builtin_trap();
        }
    if (strlen(ingot_calibration_source(c)) > CAL_MAX_SOURCE) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t n = size + INGOT_HASH_BYTES;
    ingot_calibration *c;
    uint8_t *p = malloc(n);
    memcpy(p, data, size);
    if (size >= CAL_HEADER_BYTES) ingot_le_put_u64(p + CAL_AT_FILE_BYTES, n);
    ingot_hash(p + size, p, size);
    if (cal_open_memory(&c, p, n) == INGOT_OK) read_all(c), ingot_calibration_close(c);
    free(p);
    return 0;
}
