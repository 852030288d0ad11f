/* Finds tokens that are written out in a text: control tokens when asked for, user-defined ones always. */
#ifndef INGOT_TOKENIZER_SPECIAL_H
#define INGOT_TOKENIZER_SPECIAL_H
#include "vocab.h"

typedef struct ingot_specials {
    struct ingot_special { ingot_str text; int32_t id; } *sorted; /* by bytes, a prefix before what it begins */
    int32_t n;
    int32_t first[257]; /* those that begin with byte b are sorted[first[b]..first[b + 1]) */
} ingot_specials;

/* The user-defined tokens of `v`, with control and unknown ones when `control`. INGOT_E_NOMEM. */
ingot_status ingot_specials_open(ingot_specials *s, const ingot_vocab *v, bool control);
void ingot_specials_close(ingot_specials *s);
/* The longest of them that text[n] begins with: its id and, in *length, its bytes; -1 when there is none. */
int32_t ingot_specials_match(const ingot_specials *s, const char *text, size_t n, size_t *length);
#endif
