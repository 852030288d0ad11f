/* What to know about the machine before a figure is believed. */
#include "bench.h"
#include "../base/clock.h"
#include "../base/error.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* First line of a file; "" when there is none. */
static const char *first_line(const char *path, char *buf, int cap) {
    buf[0] = 0;
    FILE *f = fopen(path, "re");
    if (!f) return buf;
    if (!fgets(buf, cap, f)) buf[0] = 0;
    fclose(f);
    return buf;
}

static size_t with_unit(const char *text) {
    unsigned long long n = 0;
    char unit = 0;
    if (sscanf(text, "%llu%c", &n, &unit) < 1) return 0;
    return (size_t)(unit == 'K' ? n << 10 : unit == 'M' ? n << 20 : unit == 'G' ? n << 30 : n);
}

static size_t largest_cache(void) {
    size_t most = 0;
    for (int i = 0; i < 16; i++) {
        char path[96], line[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        const size_t n = with_unit(first_line(path, line, sizeof line));
        if (n > most) most = n;
    }
    return most;
}

/* A line of /proc/meminfo in bytes, 0 without one. */
static size_t meminfo(const char *key) {
    char line[128];
    size_t bytes = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long long kib;
        if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), ": %llu", &kib) == 1) bytes = (size_t)kib << 10;
    }
    fclose(f);
    return bytes;
}

/* What the process's group may still take; SIZE_MAX without a limit. */
static size_t group_room(void) {
    char line[64];
    const size_t most = with_unit(first_line("/sys/fs/cgroup/memory.max", line, sizeof line));
    const size_t used = with_unit(first_line("/sys/fs/cgroup/memory.current", line, sizeof line));
    return !most ? SIZE_MAX : most > used ? most - used : 0;
}

void ingot_bench_host_get(ingot_bench_host *out) {
    *out = (ingot_bench_host){.n_cores = ingot_pool_usable_cores(), .llc_bytes = largest_cache(), .memory_bytes = meminfo("MemTotal"), .available_bytes = meminfo("MemAvailable")};
    const size_t room = group_room();
    if (!out->memory_bytes) {
        const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
        out->memory_bytes = out->available_bytes = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
    }
    if (room < out->available_bytes) out->available_bytes = room;
    struct utsname u;
    if (uname(&u) == 0) snprintf(out->system, sizeof out->system, "%.40s %.60s %.40s", u.sysname, u.release, u.machine);
}

/* --- load --- */
static double own_seconds(void) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0) return NAN;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void ingot_bench_load_start(ingot_bench_load *out) {
    char line[256];
    unsigned long long user, nice, system, idle, wait, irq, soft, steal;
    const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    *out = (ingot_bench_load){.busy = NAN, .stolen = NAN, .own = own_seconds(), .seconds = 1e-9 * (double)ingot_clock_ns()};
    if (sscanf(first_line("/proc/stat", line, sizeof line), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft, &steal) != 8) return;
    out->busy = tick * (double)(user + nice + system + irq + soft);
    out->stolen = tick * (double)steal;
}

void ingot_bench_load_since(const ingot_bench_load *start, double *others, double *stolen) {
    ingot_bench_load end;
    ingot_bench_load_start(&end);
    const double all = (end.seconds - start->seconds) * (double)sysconf(_SC_NPROCESSORS_ONLN);
    const double rest = (end.busy - start->busy) - (end.own - start->own);
    *others = rest > 0 ? rest / all : rest / all < 0 ? 0 : rest;
    *stolen = (end.stolen - start->stolen) / all;
}

/* --- memory for the rotation --- */
enum { USUAL_CACHE = 64 << 20 }; /* where the system tells no size */

size_t ingot_bench_cold_bytes(const ingot_bench_protocol *p) {
    if (p->cold_bytes) return p->cold_bytes;
    ingot_bench_host h;
    ingot_bench_host_get(&h);
    const size_t cache = h.llc_bytes ? h.llc_bytes : USUAL_CACHE;
    return cache + cache / 4;
}

ingot_status ingot_bench_check_memory(double wanted, const char *what) {
    ingot_bench_host h;
    ingot_bench_host_get(&h);
    if (!h.available_bytes || wanted <= 0.95 * (double)h.available_bytes) return INGOT_OK;
    return ingot_fail(INGOT_E_NOMEM, "%s want %.1f MiB of memory, %.1f MiB are available", what, wanted / 1048576, (double)h.available_bytes / 1048576);
}

ingot_status ingot_bench_no_memory(ingot_status s) {
    ingot_bench_host h;
    ingot_bench_host_get(&h);
    return s == INGOT_E_NOMEM ? ingot_fail_prefix(s, "%.1f MiB of memory are available", (double)h.available_bytes / 1048576) : s;
}

ingot_status ingot_bench_check_protocol(const ingot_bench_protocol *p) {
    if (!(p->seconds >= 0) || p->seconds > 1e6) return ingot_fail(INGOT_E_INVALID, "%g seconds of measuring, must be from 0 to 1e6", p->seconds);
    if (p->n_reps < 0 || p->n_reps > 1 << 20) return ingot_fail(INGOT_E_INVALID, "%d rounds, must be from 0 to %d", p->n_reps, 1 << 20);
    return INGOT_OK;
}
