/* UTF-8 as it arrives in pieces: whole characters come out, ill-formed bytes as U+FFFD (one per maximal subpart, as the
 * Unicode standard recommends, so that the result equals what other decoders make of the same bytes). */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H
#include "cli.h"

typedef struct utf8_decoder {
    unsigned char pending[4]; /* bytes of a character that has begun */
    int n, need;
    unsigned char low, high;  /* allowed range of the next byte */
} utf8_decoder;

/* Appends to `out` what is complete. {0} is the state at the start. */
void utf8_feed(utf8_decoder *d, const char *bytes, size_t n, strbuf *out);
/* The end of the text: a character that was cut off becomes U+FFFD. */
void utf8_finish(utf8_decoder *d, strbuf *out);
#endif
