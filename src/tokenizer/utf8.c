#include "utf8.h"
#include <string.h>
#include <utf8proc.h>

size_t ingot_utf8_next(const char *p, size_t n, int32_t *cp) {
    const utf8proc_ssize_t k = utf8proc_iterate((const utf8proc_uint8_t *)p, n < 4 ? (utf8proc_ssize_t)n : 4, cp);
    return k > 0 ? (size_t)k : 0;
}

size_t ingot_utf8_check(const char *p, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint64_t w;
        if (n - i >= 8 && (memcpy(&w, p + i, 8), !(w & 0x8080808080808080u))) {
            i += 8;
            continue;
        }
        int32_t cp;
        const size_t k = ingot_utf8_next(p + i, n - i, &cp);
        if (!k) return i;
        i += k;
    }
    return n;
}

/* What Python's str.isspace says: separators, and the controls of bidirectional class B, S or WS. */
static bool is_space(int32_t cp) {
    if ((cp >= 0x09 && cp <= 0x0D) || (cp >= 0x1C && cp <= 0x1F) || cp == 0x85) return true;
    const utf8proc_category_t c = utf8proc_category(cp);
    return c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

ingot_str ingot_utf8_trim(ingot_str s) {
    int32_t cp;
    size_t k;
    while (s.n && (k = ingot_utf8_next(s.p, s.n, &cp)) && is_space(cp)) s = (ingot_str){s.p + k, s.n - k};
    while (s.n) {
        size_t at = s.n - 1;
        while (at && ((unsigned char)s.p[at] & 0xC0) == 0x80) at--;
        if (!ingot_utf8_next(s.p + at, s.n - at, &cp) || !is_space(cp)) break;
        s.n = at;
    }
    return s;
}
