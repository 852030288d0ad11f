#include "gguf_cursor.h"
#include "../base/error.h"
#include <inttypes.h>
#include <string.h>

ingot_status gguf_take(gguf_cursor *c, uint64_t bytes, const char *what, const uint8_t **p) {
    if (bytes > gguf_left(c))
        return ingot_fail(INGOT_E_FORMAT, "%s takes %" PRIu64 " bytes at byte %" PRIu64 ", but only %" PRIu64
                          " are left: garbled or truncated", what, bytes, c->pos, gguf_left(c));
    *p = c->base + c->pos;
    c->pos += bytes;
    return INGOT_OK;
}

ingot_status gguf_take_u32(gguf_cursor *c, const char *what, uint32_t *v) {
    const uint8_t *p;
    INGOT_TRY(gguf_take(c, 4, what, &p));
    *v = ingot_le_u32(p);
    return INGOT_OK;
}

ingot_status gguf_take_u64(gguf_cursor *c, const char *what, uint64_t *v) {
    const uint8_t *p;
    INGOT_TRY(gguf_take(c, 8, what, &p));
    *v = ingot_le_u64(p);
    return INGOT_OK;
}

ingot_status gguf_take_str(gguf_cursor *c, const char *what, ingot_str *s) {
    uint64_t n;
    const uint8_t *p;
    INGOT_TRY(gguf_take_u64(c, what, &n));
    INGOT_TRY(gguf_take(c, n, what, &p));
    *s = (ingot_str){(const char *)p, (size_t)n};
    return INGOT_OK;
}

char *gguf_printable(char *text, size_t size, ingot_str s) {
    const bool cut = s.n >= size;
    const size_t n = cut ? size - 4 : s.n;
    for (size_t i = 0; i < n; i++) text[i] = s.p[i] >= ' ' && s.p[i] <= '~' ? s.p[i] : '?';
    memcpy(text + n, cut ? "..." : "", cut ? 4 : 1);
    return text;
}
