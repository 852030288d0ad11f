#include "cpu.h"
#include "env.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

static const char *const names[INGOT_N_ISAS] = {"ref", "avx2", "avxvnni", "avx512", "neon", "dotprod", "i8mm"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ingot_cpu detected; /* all the machine has, before any limit */
static ingot_cpu current;
static char bad_env[64];

#if defined(__x86_64__)
typedef struct regs {
    uint32_t a, b, c, d;
} regs;

static regs leaf(uint32_t n, uint32_t sub) {
    regs r = {0};
    if ((uint32_t)__get_cpuid_max(n & 0x80000000u, NULL) >= n) __cpuid_count(n, sub, r.a, r.b, r.c, r.d);
    return r;
}

static bool has(uint32_t reg, int bit) { return reg >> bit & 1; }

/* Which register files the operating system saves. */
static uint64_t saved_state(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

static void brand(char out[64]) {
    char text[49] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        const regs r = leaf(0x80000002u + i, 0);
        memcpy(text + 16 * i, &r, sizeof r);
    }
    const char *start = text + strspn(text, " ");
    snprintf(out, 64, "%s", *start ? start : "x86-64");
}

static void detect(ingot_cpu *c) {
    brand(c->name);
    const regs l1 = leaf(1, 0), l7 = leaf(7, 0), l71 = leaf(7, 1);
    if (!has(l1.c, 27)) return; /* OSXSAVE */
    const uint64_t xcr0 = saved_state();
    const bool ymm = (xcr0 & 0x6) == 0x6, zmm = (xcr0 & 0xe6) == 0xe6, tiles = (xcr0 & 0x60000) == 0x60000;

    const bool fma = has(l1.c, 12), avx = has(l1.c, 28), f16c = has(l1.c, 29);
    const bool avx2 = has(l7.b, 5), bmi2 = has(l7.b, 8);
    if (!(ymm && avx && avx2 && fma && f16c && bmi2)) return;
    c->avx_vnni = has(l71.a, 4);
    c->machine = c->avx_vnni ? INGOT_ISA_AVXVNNI : INGOT_ISA_AVX2;

    const bool f = has(l7.b, 16), dq = has(l7.b, 17), cd = has(l7.b, 28), bw = has(l7.b, 30), vl = has(l7.b, 31);
    const bool vbmi = has(l7.c, 1), vnni = has(l7.c, 11);
    if (!(zmm && f && dq && cd && bw && vl && vbmi && vnni)) return;
    c->machine = INGOT_ISA_AVX512;
    c->avx512_bf16 = has(l71.a, 5);
    c->avx512_fp16 = has(l7.d, 23);
    /* Says that tiles exist; a program still asks the kernel for leave (arch_prctl) before it uses them. */
    c->amx_int8 = tiles && has(l7.d, 24) && has(l7.d, 25);
}
#elif defined(__aarch64__)
#if defined(__linux__)
/* Bits of the kernel's ABI for arm64; older C libraries have no names for the later ones. */
static bool has_dotprod(void) { return getauxval(AT_HWCAP) >> 20 & 1; }
static bool has_i8mm(void) { return getauxval(AT_HWCAP2) >> 13 & 1; }
static void brand(char out[64]) { snprintf(out, 64, "aarch64"); }
#elif defined(__APPLE__)
static bool has_feature(const char *name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value;
}
static bool has_dotprod(void) { return has_feature("hw.optional.arm.FEAT_DotProd"); }
static bool has_i8mm(void) { return has_feature("hw.optional.arm.FEAT_I8MM"); }
static void brand(char out[64]) {
    size_t size = 64;
    if (sysctlbyname("machdep.cpu.brand_string", out, &size, NULL, 0) != 0) snprintf(out, 64, "aarch64");
}
#else
static bool has_dotprod(void) { return false; }
static bool has_i8mm(void) { return false; }
static void brand(char out[64]) { snprintf(out, 64, "aarch64"); }
#endif

/* Advanced SIMD is part of every AArch64 processor. */
static void detect(ingot_cpu *c) {
    brand(c->name);
    c->machine = !has_dotprod() ? INGOT_ISA_NEON : has_i8mm() ? INGOT_ISA_I8MM : INGOT_ISA_DOTPROD;
}
#else
static void detect(ingot_cpu *c) { snprintf(c->name, sizeof c->name, "generic"); }
#endif

/* Whether a limit of this name makes sense here: naming a level above the machine's is no limit, naming one of
 * another processor family is a mistake. */
static bool own_family(ingot_isa isa) {
#if defined(__x86_64__)
    return isa < INGOT_ISA_NEON;
#elif defined(__aarch64__)
    return isa == INGOT_ISA_REF || isa >= INGOT_ISA_NEON;
#else
    return isa == INGOT_ISA_REF;
#endif
}

/* Some processors with AVX-512 lack AVX-VNNI, which lies below. */
static bool reachable(ingot_isa isa) {
    if (isa == INGOT_ISA_AVXVNNI && !detected.avx_vnni) return false;
    return own_family(isa) && isa <= detected.machine;
}

/* `current` becomes the machine without what builds on more than `isa`. */
static void limit(ingot_isa isa) {
    current = detected;
    current.isa = isa;
    if (isa < INGOT_ISA_AVXVNNI) current.avx_vnni = false;
    if (isa < INGOT_ISA_AVX512) current.avx512_bf16 = current.avx512_fp16 = current.amx_int8 = false;
}

static void init(void) {
    detect(&detected);
    limit(detected.machine);
    const char *env = ingot_env_get(INGOT_ENV_CPU);
    ingot_isa wanted;
    if (!env) return;
    if (!ingot_isa_parse(env, &wanted) || !own_family(wanted)) {
        snprintf(bad_env, sizeof bad_env, "%s", env);
        return;
    }
    if (wanted > detected.machine) return;
    while (!reachable(wanted)) wanted--;
    limit(wanted);
}

const ingot_cpu *ingot_cpu_get(void) {
    pthread_once(&once, init);
    return &current;
}

const char *ingot_isa_name(ingot_isa isa) { return (unsigned)isa < INGOT_N_ISAS ? names[isa] : "unknown"; }

bool ingot_isa_parse(const char *s, ingot_isa *out) {
    for (int i = 0; i < INGOT_N_ISAS; i++) {
        if (strcmp(s, names[i]) != 0) continue;
        *out = (ingot_isa)i;
        return true;
    }
    return false;
}

const char *ingot_cpu_bad_env(void) {
    pthread_once(&once, init);
    return bad_env[0] ? bad_env : NULL;
}

bool ingot_cpu_force(ingot_isa isa) {
    pthread_once(&once, init);
    if (!reachable(isa)) return false;
    limit(isa);
    return true;
}
