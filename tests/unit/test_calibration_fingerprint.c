/* Fingerprints of models. */
#include "calibration/fingerprint.h"
#include "test.h"

/* Fingerprint of one tensor of n bytes and a second one, in either order. */
static void print_of(uint8_t out[16], const uint8_t *data, size_t n, const char *name, uint32_t type, uint64_t rows, bool swap) {
    ingot_fingerprint f = {{0}, 0};
    const uint64_t dims[4] = {n / rows, rows, 1, 1}, other[4] = {3, 1, 1, 1};
    if (swap) ingot_fingerprint_add(&f, "other", 5, 0, other, "abc", 3);
    ingot_fingerprint_add(&f, name, strlen(name), type, dims, data, n);
    if (!swap) ingot_fingerprint_add(&f, "other", 5, 0, other, "abc", 3);
    ingot_fingerprint_get(&f, out);
}

TEST("fingerprint/everything that tells models apart, but not the order of tensors") {
    static uint8_t data[100000];
    static const size_t places[] = {0, 4095, sizeof data / 2, sizeof data - 4096, sizeof data - 1};
    uint8_t base[16], x[16];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7);
    print_of(base, data, sizeof data, "w", 2, 10, false);
    print_of(x, data, sizeof data, "w", 2, 10, true);
    CHECK_MEM(x, base, 16);
    print_of(x, data, sizeof data, "v", 2, 10, false);
    CHECK(memcmp(x, base, 16) != 0);
    print_of(x, data, sizeof data, "w", 3, 10, false);
    CHECK(memcmp(x, base, 16) != 0);
    print_of(x, data, sizeof data, "w", 2, 20, false);
    CHECK(memcmp(x, base, 16) != 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        test_case("byte %zu", places[i]);
        data[places[i]] ^= 1;
        print_of(x, data, sizeof data, "w", 2, 10, false);
        CHECK(memcmp(x, base, 16) != 0);
        data[places[i]] ^= 1;
    }
    for (size_t n = 1; n < 3; n++) { /* smaller than a sample */
        print_of(base, data, n, "w", 2, 1, false);
        data[n - 1] ^= 1;
        print_of(x, data, n, "w", 2, 1, false);
        CHECK(memcmp(x, base, 16) != 0);
        data[n - 1] ^= 1;
    }
}
