/* Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (GPT-2), bytes_to_unicode of its encoder. */
#include "byte_alphabet.h"
#include "utf8.h"

/* Printable bytes of Latin-1 stand for themselves; the 68 others are U+0100, U+0101, ... in order. */
static bool stands_for_itself(int b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF); }

static int byte_of(int32_t cp) {
    if (cp < 0x100) return stands_for_itself(cp) ? cp : -1;
    if (cp <= 0x120) return cp - 0x100;          /* 0x00..0x20 */
    if (cp <= 0x142) return cp - 0x121 + 0x7F;   /* 0x7F..0xA0 */
    return cp == 0x143 ? 0xAD : -1;
}

int64_t ingot_byte_alphabet_decode(const char *text, size_t n, char *out) {
    int64_t m = 0;
    for (size_t i = 0, k; i < n; i += k) {
        int32_t cp;
        k = ingot_utf8_next(text + i, n - i, &cp);
        const int b = k ? byte_of(cp) : -1;
        if (b < 0) return -1;
        out[m++] = (char)b;
    }
    return m;
}
