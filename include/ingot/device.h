/* Devices: where a cache lives and attention runs. C11, C++-clean. */
#ifndef INGOT_DEVICE_H
#define INGOT_DEVICE_H
#include <ingot/status.h>
#include <ingot/types.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_device ingot_device;

/* Opens a device by name: "cpu" (best instruction set that the machine and INGOT_CPU allow) or "ref"
 * (scalar reference). `n_threads` 0 = one per core. Errors: INGOT_E_INVALID listing the names. */
ingot_status ingot_device_open(ingot_device **out, const char *name, int n_threads);
/* Closes it; caches and engines on it must be gone. NULL is allowed. */
void ingot_device_close(ingot_device *device);

const char *ingot_device_name(const ingot_device *device);
int ingot_device_threads(const ingot_device *device);
/* One line of what was chosen, such as "cpu: avx512 vnni vbmi, 2 threads". Owned by the device. */
const char *ingot_device_description(const ingot_device *device);

#ifdef __cplusplus
}
#endif
#endif
