/* Codes in bytes, least significant bit first: code i lies in bits [i * bits, (i + 1) * bits), bit j of a row being bit j % 8 of byte j / 8. */
#ifndef INGOT_CODEC_PACK_H
#define INGOT_CODEC_PACK_H
#include <stdint.h>

/* n codes of 1 to 8 bits, one a byte, into (n * bits + 7) / 8 bytes; unused bits of the last one are 0. */
static inline void ingot_pack_codes(const uint8_t *code, int n, int bits, uint8_t *out) {
    uint32_t word = 0;
    int have = 0;
    for (int i = 0; i < n; i++) {
        word |= (uint32_t)code[i] << have;
        have += bits;
        if (have >= 8) *out++ = (uint8_t)word, word >>= 8, have -= 8;
    }
    if (have) *out = (uint8_t)word;
}

static inline void ingot_unpack_codes(const uint8_t *in, int n, int bits, uint8_t *code) {
    uint32_t word = 0;
    int have = 0;
    for (int i = 0; i < n; i++) {
        if (have < bits) word |= (uint32_t)*in++ << have, have += 8;
        code[i] = (uint8_t)(word & ((1u << bits) - 1));
        word >>= bits, have -= bits;
    }
}

/* The nibbles of ggml's blocks: byte j of n codes holds code j (low four bits) and code j + n / 2 (high). n is even. */
static inline void ingot_pack_halves(const uint8_t *code, int n, uint8_t *out) {
    for (int j = 0; j < n / 2; j++) out[j] = (uint8_t)((code[j] & 15) | (code[j + n / 2] & 15) << 4);
}

static inline void ingot_unpack_halves(const uint8_t *in, int n, uint8_t *code) {
    for (int j = 0; j < n / 2; j++) code[j] = in[j] & 15, code[j + n / 2] = in[j] >> 4;
}
#endif
