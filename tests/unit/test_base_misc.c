#include "test.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/env.h"
#include "base/error.h"
#include "base/rng.h"
#include <ingot/ingot.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TEST("rng/seed 42 gives the written-down numbers and signs") {
    static const char want[] = "-++++-+-+-++---++++--+--++------";
    ingot_rng r = {42};
    CHECK(ingot_rng_next(&r) == 0xbdd732262feb6e95u);
    char got[65] = {0};
    r.state = 42;
    for (int i = 0; i < 64; i++) got[i] = ingot_rng_next(&r) >> 63 ? '-' : '+';
    CHECK_MEM(got, want, 32);
    CHECK_STR(got + 32, "---+++-+-++--+++--+++++----++--+");
    static const uint8_t packed[16] = {0xa1, 0x72, 0xd8, 0xfc, 0x47, 0x19, 0x83, 0x67, 0xf6, 0x2e, 0xd2, 0x67, 0xd5, 0xa1, 0xa2, 0x03};
    uint8_t bits[16] = {0};
    r.state = 42;
    for (int i = 0; i < 128; i++) bits[i / 8] |= (uint8_t)(ingot_rng_next(&r) >> 63 << i % 8);
    CHECK_MEM(bits, packed, 16);
}

TEST("rng/uniform and normal have the right moments") {
    enum { N = 200000 };
    ingot_rng r = {1};
    double u = 0, m = 0, v = 0, k = 0;
    for (int i = 0; i < N; i++) {
        const double x = ingot_rng_uniform(&r), z = ingot_rng_normal(&r);
        if (x < 0 || x >= 1 || !isfinite(z)) CHECK(false);
        u += x, m += z, v += z * z, k += z * z * z * z;
    }
    /* four standard errors */
    CHECK_NEAR(u / N, 0.5, 4 * sqrt(1.0 / 12 / N));
    CHECK_NEAR(m / N, 0, 4 * sqrt(1.0 / N));
    CHECK_NEAR(v / N, 1, 4 * sqrt(2.0 / N));
    CHECK_NEAR(k / N, 3, 4 * sqrt(96.0 / N));
}

static void *fail_elsewhere(void *arg) {
    (void)arg;
    ingot_fail(INGOT_E_IO, "other thread");
    return NULL;
}

TEST("error/the last message is this thread's, formatted, prefixed and cut to fit") {
    CHECK_STATUS(ingot_fail(INGOT_E_FORMAT, "offset %d past the end", 77), INGOT_E_FORMAT);
    CHECK_STR(ingot_last_error(), "offset 77 past the end");
    CHECK_STATUS(ingot_fail_prefix(INGOT_E_FORMAT, "tensor %s", "x"), INGOT_E_FORMAT);
    CHECK_STR(ingot_last_error(), "tensor x: offset 77 past the end");
    pthread_t t;
    if (!CHECK_INT(pthread_create(&t, NULL, fail_elsewhere, NULL), 0)) return;
    pthread_join(t, NULL);
    CHECK_STR(ingot_last_error(), "tensor x: offset 77 past the end");
    ingot_fail(INGOT_E_IO, "again %s", ingot_last_error());
    CHECK_STR(ingot_last_error(), "again tensor x: offset 77 past the end");
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    ingot_fail(INGOT_E_IO, "%s", text);
    CHECK_INT(strlen(ingot_last_error()), 1023);
    ingot_fail_prefix(INGOT_E_IO, "%s", "front");
    CHECK_INT(strlen(ingot_last_error()), 1023);
    CHECK_HAS(ingot_last_error(), "front: aaa");
}

TEST("error/every status has a name of its own") {
    for (int a = INGOT_OK; a <= INGOT_E_CANCELLED; a++)
        for (int b = INGOT_OK; b < a; b++) CHECK(strcmp(ingot_status_string((ingot_status)a), ingot_status_string((ingot_status)b)) != 0);
    CHECK_STR(ingot_status_string((ingot_status)99), "unknown status");
}

TEST("cpu/levels have names and only the machine's can be forced") {
    for (int i = INGOT_ISA_REF; i < INGOT_N_ISAS; i++) {
        ingot_isa back;
        CHECK(ingot_isa_parse(ingot_isa_name((ingot_isa)i), &back) && (int)back == i);
    }
    ingot_isa isa;
    CHECK(!ingot_isa_parse("avx", &isa));
    CHECK(!ingot_isa_parse("", &isa));
    CHECK(ingot_cpu_get()->name[0] != 0);
    CHECK(ingot_cpu_force(INGOT_ISA_REF));
    const ingot_cpu *cpu = ingot_cpu_get();
    CHECK_INT(cpu->isa, INGOT_ISA_REF);
    CHECK(!cpu->avx_vnni && !cpu->avx512_bf16 && !cpu->avx512_fp16 && !cpu->amx_int8);
    CHECK(ingot_cpu_force(cpu->machine));
    CHECK_INT(ingot_cpu_get()->isa, cpu->machine);
#if defined(__x86_64__)
    CHECK(!ingot_cpu_force(INGOT_ISA_NEON));
    __builtin_cpu_init(); /* the compiler's own detection as a second opinion */
    CHECK_INT(cpu->machine >= INGOT_ISA_AVX2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"));
    if (ingot_cpu_force(INGOT_ISA_AVXVNNI)) CHECK(cpu->avx_vnni && !cpu->avx512_bf16 && !cpu->avx512_fp16 && !cpu->amx_int8);
    if (ingot_cpu_force(INGOT_ISA_AVX2)) CHECK(!cpu->avx_vnni);
    CHECK(ingot_cpu_force(cpu->machine));
    if (cpu->machine == INGOT_ISA_AVX512) CHECK(__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"));
#elif defined(__aarch64__)
    CHECK(!ingot_cpu_force(INGOT_ISA_AVX2));
    CHECK(cpu->machine >= INGOT_ISA_NEON && ingot_cpu_force(INGOT_ISA_NEON));
#endif
}

/* The level is read once a process, so these run in a process of their own with the variable set. */
TEST("cpu/probe the level in use") {
    const char *env = getenv("INGOT_CPU"), *bad = ingot_cpu_bad_env();
    const ingot_cpu *cpu = ingot_cpu_get();
    ingot_isa named;
    if (!env) CHECK(!bad);
    else if (!ingot_isa_parse(env, &named)) CHECK_STR(bad, env);
    else if (named != INGOT_ISA_REF && (named >= INGOT_ISA_NEON) != (cpu->machine >= INGOT_ISA_NEON)) CHECK_STR(bad, env); /* of another family */
    else if (named == INGOT_ISA_AVXVNNI && !cpu->avx_vnni) CHECK(!bad && cpu->isa == (cpu->machine < INGOT_ISA_AVX2 ? cpu->machine : INGOT_ISA_AVX2));
    else CHECK(!bad && cpu->isa == (named < cpu->machine ? named : cpu->machine));
}

TEST("cpu/INGOT_CPU limits the level and a wrong name is kept for the message") {
#ifdef __linux__
    char exe[512], command[700];
    const long n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (!CHECK(n > 0)) return;
    exe[n] = 0;
    static const char *const values[] = {"ref", "avx2", "avxvnni", "avx512", "neon", "dotprod", "i8mm", "banana"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        test_case("INGOT_CPU=%s", values[i]);
        snprintf(command, sizeof command, "INGOT_CPU=%s '%s' --no-fork -f 'cpu/probe the level' >/dev/null", values[i], exe);
        const int rc = system(command);
        if (WIFEXITED(rc) && WEXITSTATUS(rc) == 126) {
            test_skip("the system cannot start this program again (emulated?)");
            return;
        }
        CHECK_INT(rc, 0);
    }
#else
    test_skip("finds its own program through /proc");
#endif
}

TEST("env/each variable has a name, its values and a meaning") {
    for (int i = 0; i < INGOT_N_ENV; i++) {
        CHECK_HAS(ingot_env_name((ingot_env)i), "INGOT_");
        CHECK(ingot_env_values((ingot_env)i)[0] && ingot_env_meaning((ingot_env)i)[0]);
    }
    setenv("INGOT_HUGEPAGES", "", 1);
    CHECK(ingot_env_get(INGOT_ENV_HUGEPAGES) == NULL);
    setenv("INGOT_HUGEPAGES", "0", 1);
    CHECK_STR(ingot_env_get(INGOT_ENV_HUGEPAGES), "0");
}

TEST("clock/time goes on and memory is in bytes") {
    const uint64_t a = ingot_clock_ns();
    volatile char *block = malloc(8 << 20);
    for (size_t i = 0; i < 8 << 20; i += 4096) block[i] = 1;
    CHECK(ingot_clock_ns() > a);
    CHECK(ingot_peak_rss_bytes() > 8 << 20);
    free((void *)block);
    CHECK_STR(ingot_version(), "0.1.0");
}
