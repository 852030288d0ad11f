#include "text_stream.h"
#include <string.h>

static void release(text_stream *s, size_t n) {
    strbuf_add(&s->text, s->held.data ? s->held.data : "", n);
    strbuf_drop(&s->held, n);
}

/* Where the first stop string in `held` begins; false when there is none. */
static bool find_stop(const text_stream *s, size_t *at) {
    bool found = false;
    for (int i = 0; i < s->n_stops; i++) {
        const char *p = memmem(s->held.data, s->held.n, s->stops[i], strlen(s->stops[i]));
        if (!p || (found && (size_t)(p - s->held.data) >= *at)) continue;
        *at = (size_t)(p - s->held.data);
        found = true;
    }
    return found;
}

/* Length of the longest end of `held` that is the beginning of a stop string. */
static size_t open_end(const text_stream *s) {
    size_t longest = 0;
    for (int i = 0; i < s->n_stops; i++) {
        const size_t whole = strlen(s->stops[i]);
        size_t n = whole - 1 < s->held.n ? whole - 1 : s->held.n;
        while (n > longest && memcmp(s->held.data + s->held.n - n, s->stops[i], n)) n--;
        if (n > longest) longest = n;
    }
    return longest;
}

static bool settle(text_stream *s) {
    size_t at = 0;
    if (!s->held.n) return false;
    if (find_stop(s, &at)) {
        release(s, at);
        s->stopped = true;
        return true;
    }
    release(s, s->held.n - open_end(s));
    return false;
}

bool text_stream_add(text_stream *s, const char *bytes, size_t n) {
    if (s->stopped) return true;
    utf8_feed(&s->decoder, bytes, n, &s->held);
    return settle(s);
}

void text_stream_finish(text_stream *s) {
    if (s->stopped) return;
    utf8_finish(&s->decoder, &s->held);
    if (!settle(s)) release(s, s->held.n);
}

const char *text_stream_take(text_stream *s, size_t *n) {
    const char *p = s->text.data ? s->text.data + s->n_taken : "";
    *n = s->text.n - s->n_taken;
    s->n_taken = s->text.n;
    return p;
}

void text_stream_free(text_stream *s) {
    strbuf_free(&s->held);
    strbuf_free(&s->text);
}
