/* The conversions work on bits; these tests work on numbers (ldexp), so that both would have to be wrong alike. */
#include "test.h"
#include "base/half.h"

static double half_value(unsigned h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const double sign = h >> 15 ? -1 : 1;
    if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

TEST("half/all 65536 halves have their value and come back") {
    int wrong = 0, lost = 0;
    for (unsigned h = 0; h < 65536; h++) {
        const double want = half_value(h);
        const float got = ingot_f16_to_f32((uint16_t)h);
        const uint16_t back = ingot_f32_to_f16(got);
        if (isnan(want)) {
            wrong += !isnan(got);
            lost += !isnan(half_value(back)) || back >> 15 != h >> 15;
        } else {
            wrong += (double)got != want || !signbit(got) != !(h >> 15);
            lost += back != h;
        }
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(lost, 0);
}

TEST("half/between two halves the nearer one, at the middle the even one") {
    int wrong = 0;
    for (unsigned h = 0; h < 0x7bff; h++) { /* both signs, each pair of finite neighbours */
        const double low = half_value(h), high = half_value(h + 1);
        const float middle = (float)((low + high) / 2);
        const unsigned even = h & 1 ? h + 1 : h;
        for (unsigned sign = 0; sign < 2; sign++) {
            const float s = sign ? -1 : 1;
            wrong += ingot_f32_to_f16(s * middle) != (sign << 15 | even);
            wrong += ingot_f32_to_f16(s * nextafterf(middle, 0)) != (sign << 15 | h);
            wrong += ingot_f32_to_f16(s * nextafterf(middle, INFINITY)) != (sign << 15 | (h + 1));
        }
    }
    CHECK_INT(wrong, 0);
}

TEST("half/the ends of the range") {
    CHECK_INT(ingot_f32_to_f16(65504.0f), 0x7bff);
    CHECK_INT(ingot_f32_to_f16(nextafterf(65520.0f, 0)), 0x7bff);
    CHECK_INT(ingot_f32_to_f16(65520.0f), 0x7c00);
    CHECK_INT(ingot_f32_to_f16(-3e38f), 0xfc00);
    CHECK_INT(ingot_f32_to_f16(-INFINITY), 0xfc00);
    CHECK_INT(ingot_f32_to_f16(0x1p-25f), 0);
    CHECK_INT(ingot_f32_to_f16(nextafterf(0x1p-25f, 1)), 1);
    CHECK_INT(ingot_f32_to_f16(-0.0f), 0x8000);
    CHECK_INT(ingot_f32_to_f16(0x1p-149f), 0);
    CHECK_INT(ingot_f32_to_f16(NAN) & 0x7fff, 0x7e00);
}

TEST("half/bfloat16 and E8M0 have their value") {
    int wrong = 0;
    for (unsigned h = 0; h < 65536; h++) {
        const int exponent = h >> 7 & 255, mantissa = h & 127;
        const float got = ingot_bf16_to_f32((uint16_t)h);
        const double sign = h >> 15 ? -1 : 1;
        if (exponent == 255)
            wrong += mantissa ? !isnan(got) : (double)got != sign * INFINITY;
        else
            wrong += (double)got != sign * (exponent ? ldexp(128 + mantissa, exponent - 134) : ldexp(mantissa, -133));
    }
    CHECK_INT(wrong, 0);
    for (int e = 0; e < 255; e++) wrong += (double)ingot_e8m0_to_f32((uint8_t)e) != ldexp(1, e - 127);
    CHECK_INT(wrong, 0);
    CHECK(isnan(ingot_e8m0_to_f32(255)));
}
