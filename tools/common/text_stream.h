/* Text on its way from tokens to a reader: whole characters only, ends in front of a stop string, and holds back
 * what may still become one. */
#ifndef TOOLS_TEXT_STREAM_H
#define TOOLS_TEXT_STREAM_H
#include "cli.h"
#include "utf8.h"

typedef struct text_stream {
    const char *const *stops; /* [n_stops], borrowed, none empty */
    int n_stops;
    utf8_decoder decoder;
    strbuf held;    /* decoded, not yet released */
    strbuf text;    /* everything released so far */
    size_t n_taken; /* of `text`, what text_stream_take() gave out */
    bool stopped;
} text_stream;

/* Adds the bytes of a token. True when a stop string has appeared: nothing is released after it. */
bool text_stream_add(text_stream *s, const char *bytes, size_t n);
/* The end: what was held back is released (unless a stop string came). */
void text_stream_finish(text_stream *s);
/* Text released since the last call; borrowed until the next add or finish. */
const char *text_stream_take(text_stream *s, size_t *n);
void text_stream_free(text_stream *s);
#endif
