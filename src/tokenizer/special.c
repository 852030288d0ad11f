#include "special.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <stdlib.h>
#include <string.h>

typedef struct ingot_special special;

static bool wanted(const ingot_vocab *v, int32_t id, bool control) {
    return v->texts[id].n && (v->kinds[id] == INGOT_TOKEN_USER || (control && ingot_vocab_is_control(v, id)));
}

static int compare(const void *pa, const void *pb) {
    const special *a = pa, *b = pb;
    const int c = memcmp(a->text.p, b->text.p, a->text.n < b->text.n ? a->text.n : b->text.n);
    if (c) return c;
    if (a->text.n != b->text.n) return a->text.n < b->text.n ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

ingot_status ingot_specials_open(ingot_specials *s, const ingot_vocab *v, bool control) {
    *s = (ingot_specials){0};
    for (int32_t i = 0; i < v->n; i++) s->n += wanted(v, i, control);
    s->sorted = ingot_alloc_array((size_t)s->n, sizeof *s->sorted, INGOT_MEM_TOKENIZER);
    if (!s->sorted) return ingot_fail(INGOT_E_NOMEM, "no memory for %d special tokens", (int)s->n);
    int32_t n = 0;
    for (int32_t i = 0; i < v->n; i++)
        if (wanted(v, i, control)) s->sorted[n++] = (special){v->texts[i], i};
    qsort(s->sorted, (size_t)n, sizeof *s->sorted, compare);
    for (int32_t b = 0, i = 0; b <= 256; b++) {
        while (i < n && (unsigned char)s->sorted[i].text.p[0] < b) i++;
        s->first[b] = i;
    }
    return INGOT_OK;
}

void ingot_specials_close(ingot_specials *s) {
    ingot_dealloc(s->sorted);
    *s = (ingot_specials){0};
}

/* First of sorted[lo..hi), which agree in their first `at` bytes and are all longer, whose byte `at` is not below `b`. */
static int32_t lower_bound(const ingot_specials *s, int32_t lo, int32_t hi, size_t at, int b) {
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo) / 2;
        if ((unsigned char)s->sorted[mid].text.p[at] < b) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

int32_t ingot_specials_match(const ingot_specials *s, const char *text, size_t n, size_t *length) {
    int32_t best = -1;
    if (!n) return best;
    int32_t lo = s->first[(unsigned char)text[0]], hi = s->first[(unsigned char)text[0] + 1];
    for (size_t at = 1; lo < hi; at++) {
        if (s->sorted[lo].text.n == at) {
            best = s->sorted[lo].id;
            *length = at;
            while (lo < hi && s->sorted[lo].text.n == at) lo++; /* the same text twice: the first id counts */
        }
        if (at == n) break;
        const int b = (unsigned char)text[at];
        lo = lower_bound(s, lo, hi, at, b);
        hi = lower_bound(s, lo, hi, at, b + 1);
    }
    return best;
}
