/* Streams of codes of 1 to 8 bits, least significant bit first: element i in bits [i * bits, (i + 1) * bits). The last byte is filled with zeros. */
#ifndef INGOT_CODE_BITS_H
#define INGOT_CODE_BITS_H
#include <stddef.h>
#include <stdint.h>

/* Bytes of n codes. */
static inline size_t ingot_code_bytes(int n, int bits) { return ((size_t)n * (size_t)bits + 7) / 8; }

static inline void ingot_put_codes(uint8_t *out, const uint8_t *code, int n, int bits) {
    uint32_t window = 0;
    int have = 0;
    for (int i = 0; i < n; i++) {
        window |= (uint32_t)code[i] << have;
        for (have += bits; have >= 8; have -= 8) *out++ = (uint8_t)window, window >>= 8;
    }
    if (have) *out = (uint8_t)window;
}

static inline void ingot_get_codes(const uint8_t *in, int n, int bits, uint8_t *code) {
    const uint32_t mask = (1u << bits) - 1;
    uint32_t window = 0;
    int have = 0;
    for (int i = 0; i < n; i++) {
        if (have < bits) window |= (uint32_t)*in++ << have, have += 8;
        code[i] = (uint8_t)(window & mask), window >>= bits, have -= bits;
    }
}
#endif
