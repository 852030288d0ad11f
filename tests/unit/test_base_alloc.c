#include "test.h"
#include "base/alloc.h"
#include <stdlib.h>

static bool all_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

TEST("alloc/blocks are aligned, zeroed and counted under their tag") {
    const size_t before = ingot_mem_bytes(INGOT_MEM_KV), other = ingot_mem_bytes(INGOT_MEM_SCRATCH);
    unsigned char *p[40];
    size_t sum = 0;
    for (size_t i = 0; i < 40; i++) {
        const size_t n = i * i * 7;
        test_case("%zu bytes", n);
        p[i] = ingot_alloc(n, INGOT_MEM_KV);
        if (!CHECK(p[i] != NULL)) return;
        CHECK_INT((uintptr_t)p[i] % 64, 0);
        CHECK(all_zero(p[i], n));
        memset(p[i], 0xff, n);
        sum += n;
        CHECK_INT(ingot_mem_bytes(INGOT_MEM_KV) - before, sum);
    }
    for (size_t i = 0; i < 40; i++) ingot_dealloc(p[i]);
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_KV), before);
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_SCRATCH), other);
    ingot_dealloc(NULL);
}

TEST("alloc/absurd sizes and wrapping products are refused") {
    CHECK(ingot_alloc(SIZE_MAX, INGOT_MEM_OTHER) == NULL);
    CHECK(ingot_alloc(SIZE_MAX - 63, INGOT_MEM_OTHER) == NULL);
    CHECK(ingot_alloc_mapped(SIZE_MAX - 10, INGOT_MEM_OTHER) == NULL);
    CHECK(ingot_alloc_array(SIZE_MAX / 2 + 1, 2, INGOT_MEM_OTHER) == NULL);
    CHECK(ingot_alloc_array(SIZE_MAX / 4, 5, INGOT_MEM_OTHER) == NULL);
    int *p = ingot_alloc_array(3, sizeof *p, INGOT_MEM_OTHER);
    CHECK(p != NULL);
    ingot_dealloc(p);
}

TEST("alloc/growing keeps the contents and zeroes the rest, failing keeps the block") {
    const size_t before = ingot_mem_bytes(INGOT_MEM_SCRATCH);
    unsigned char *p = ingot_realloc(NULL, 100, INGOT_MEM_SCRATCH);
    memset(p, 7, 100);
    p = ingot_realloc(p, 5000, INGOT_MEM_SCRATCH);
    CHECK_INT(p[0] + p[99], 14);
    CHECK(all_zero(p + 100, 4900));
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_SCRATCH) - before, 5000);
    ingot_mem_fail_at(1);
    CHECK(ingot_realloc(p, 10000, INGOT_MEM_SCRATCH) == NULL);
    CHECK_INT(p[99], 7);
    p = ingot_realloc(p, 50, INGOT_MEM_SCRATCH);
    CHECK_INT(p[49], 7);
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_SCRATCH) - before, 50);
    ingot_dealloc(p);
    char *s = ingot_strdup("ingot", INGOT_MEM_SCRATCH);
    CHECK_STR(s, "ingot");
    ingot_dealloc(s);
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_SCRATCH), before);
}

TEST("alloc/mapped blocks are zero, aligned and counted") {
    const size_t before = ingot_mem_bytes(INGOT_MEM_KV), n = (size_t)5 << 20;
    unsigned char *p = ingot_alloc_mapped(n, INGOT_MEM_KV);
    if (!CHECK(p != NULL)) return;
    CHECK_INT((uintptr_t)p % 64, 0);
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_KV) - before, n);
    CHECK(all_zero(p, n));
    p[0] = p[n - 1] = 1;
    ingot_dealloc_mapped(p);
    CHECK_INT(ingot_mem_bytes(INGOT_MEM_KV), before);
    ingot_dealloc_mapped(NULL);
}

TEST("alloc/the guard counts every allocation and only while it is on") {
    const long before = ingot_mem_violations();
    void *a = ingot_alloc(1, INGOT_MEM_OTHER);
    CHECK_INT(ingot_mem_violations(), before);
    ingot_mem_forbid(true);
    void *b = ingot_alloc(1, INGOT_MEM_OTHER), *c = ingot_alloc_mapped(1, INGOT_MEM_OTHER);
    a = ingot_realloc(a, 2, INGOT_MEM_OTHER);
    char *s = ingot_strdup("x", INGOT_MEM_OTHER);
    ingot_mem_forbid(false);
    CHECK_INT(ingot_mem_violations() - before, 4);
    ingot_dealloc(ingot_alloc(1, INGOT_MEM_OTHER));
    CHECK_INT(ingot_mem_violations() - before, 4);
    ingot_dealloc(a), ingot_dealloc(b), ingot_dealloc_mapped(c), ingot_dealloc(s);
}

TEST("alloc/the n-th allocation fails, once") {
    for (int n = 1; n <= 5; n++) {
        test_case("n = %d", n);
        ingot_mem_fail_at(n);
        for (int i = 1; i <= 7; i++) {
            void *p = i % 2 ? ingot_alloc(8, INGOT_MEM_OTHER) : ingot_alloc_mapped(8, INGOT_MEM_OTHER);
            CHECK_INT(p == NULL, i == n);
            if (i % 2) ingot_dealloc(p); else ingot_dealloc_mapped(p);
        }
    }
    ingot_mem_fail_at(2);
    ingot_mem_fail_at(0);
    for (int i = 0; i < 3; i++) {
        void *p = ingot_alloc(8, INGOT_MEM_OTHER);
        CHECK(p != NULL);
        ingot_dealloc(p);
    }
}
