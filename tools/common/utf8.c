#include "utf8.h"
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

static void replace(utf8_decoder *d, strbuf *out) {
    strbuf_add(out, replacement, 3);
    d->n = d->need = 0;
}

/* Table 3-7 of the Unicode standard: what may follow a first byte. */
static void begin(utf8_decoder *d, unsigned char c, strbuf *out) {
    const char ascii = (char)c;
    d->low = 0x80, d->high = 0xbf, d->n = 0, d->need = 0;
    if (c < 0x80) {
        strbuf_add(out, &ascii, 1);
        return;
    }
    if (c >= 0xc2 && c <= 0xdf) d->need = 2;
    else if (c >= 0xe0 && c <= 0xef) d->need = 3;
    else if (c >= 0xf0 && c <= 0xf4) d->need = 4;
    else {
        replace(d, out);
        return;
    }
    if (c == 0xe0) d->low = 0xa0;
    if (c == 0xed) d->high = 0x9f;
    if (c == 0xf0) d->low = 0x90;
    if (c == 0xf4) d->high = 0x8f;
    d->pending[d->n++] = c;
}

void utf8_feed(utf8_decoder *d, const char *bytes, size_t n, strbuf *out) {
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (d->need && (c < d->low || c > d->high)) replace(d, out);
        if (!d->need) {
            begin(d, c, out);
            continue;
        }
        d->pending[d->n++] = c;
        d->low = 0x80, d->high = 0xbf;
        if (d->n < d->need) continue;
        strbuf_add(out, (const char *)d->pending, (size_t)d->n);
        d->n = d->need = 0;
    }
}

void utf8_finish(utf8_decoder *d, strbuf *out) {
    if (d->need) replace(d, out);
}
