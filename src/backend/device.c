/* Devices: a back end's table and a pool of threads. */
#include <ingot/device.h>
#include "../base/alloc.h"
#include "../base/cpu.h"
#include "../base/error.h"
#include "backend.h"
#include <stdio.h>
#include <string.h>

static ingot_status unknown_name(const char *name) {
    char list[128];
    size_t at = 0;
    list[0] = 0;
    for (int i = 0; i < ingot_backend_count() && at < sizeof list; i++) {
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", ingot_backend_name(i));
    }
    return ingot_fail(INGOT_E_INVALID, "unknown device '%s'; there are: %s", name ? name : "", list);
}

static void describe(ingot_device *d) {
    const ingot_cpu *cpu = ingot_cpu_get();
    const int n = ingot_pool_size(d->pool);
    const bool scalar = strcmp(d->backend->name, "ref") == 0 || cpu->isa == INGOT_ISA_REF;
    snprintf(d->description, sizeof d->description, "%s: %s, %d thread%s", d->backend->name,
             scalar ? "scalar" : cpu->isa == INGOT_ISA_AVX512 ? "avx512 vnni vbmi" : ingot_isa_name(cpu->isa), n, n == 1 ? "" : "s");
}

ingot_status ingot_device_open(ingot_device **out, const char *name, int n_threads) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the device");
    *out = NULL;
    const ingot_backend *backend = ingot_backend_find(name);
    if (!backend) return unknown_name(name);
    ingot_device *d = ingot_alloc(sizeof *d, INGOT_MEM_OTHER);
    if (!d) return ingot_fail(INGOT_E_NOMEM, "out of memory for device '%s'", name);
    d->backend = backend;
    const ingot_status s = ingot_pool_create(&d->pool, n_threads);
    if (s != INGOT_OK) {
        ingot_dealloc(d);
        return s;
    }
    describe(d);
    *out = d;
    return INGOT_OK;
}

void ingot_device_close(ingot_device *device) {
    if (!device) return;
    ingot_pool_destroy(device->pool);
    ingot_dealloc(device);
}

const char *ingot_device_name(const ingot_device *device) { return device->backend->name; }
int ingot_device_threads(const ingot_device *device) { return ingot_pool_size(device->pool); }
const char *ingot_device_description(const ingot_device *device) { return device->description; }
