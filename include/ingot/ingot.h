/* Umbrella header of libingot (the compression library). The engine's headers are <ingot/model.h>,
 * <ingot/session.h> and <ingot/eval.h> (libingot-engine). */
#ifndef INGOT_H
#define INGOT_H
#include <ingot/cache.h>
#include <ingot/device.h>
#include <ingot/method.h>
#include <ingot/status.h>
#include <ingot/types.h>

#define INGOT_VERSION_MAJOR 0
#define INGOT_VERSION_MINOR 1
#define INGOT_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif
/* "0.1.0" */
const char *ingot_version(void);
#ifdef __cplusplus
}
#endif
#endif
