/* A fingerprint of a model's weights, so that a calibration is not used with another model. */
#ifndef INGOT_CALIBRATION_FINGERPRINT_H
#define INGOT_CALIBRATION_FINGERPRINT_H
#include <stddef.h>
#include <stdint.h>

/* Zeroed to begin with. The order of tensors does not matter, so that a model split over files keeps its fingerprint. */
typedef struct ingot_fingerprint {
    uint64_t sum[2], n;
} ingot_fingerprint;

/* Adds a tensor: its name, type, shape (unused dims are 1), and of its data the first, middle and last 4 KiB. */
void ingot_fingerprint_add(ingot_fingerprint *f, const char *name, size_t name_bytes, uint32_t type, const uint64_t dims[4], const void *data,
                           size_t bytes);
void ingot_fingerprint_get(const ingot_fingerprint *f, uint8_t out[16]);
#endif
