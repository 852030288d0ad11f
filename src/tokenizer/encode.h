/* What encoding a text and building a conversation share. Private to the tokenizer. */
#ifndef INGOT_TOKENIZER_ENCODE_H
#define INGOT_TOKENIZER_ENCODE_H
#include "bpe.h"
#include "special.h"
#include "spm.h"
#include "tokenizer.h"

struct ingot_tokenizer {
    ingot_vocab vocab;
    ingot_bpe bpe;            /* the one of the two that vocab.model names */
    ingot_spm spm;
    ingot_specials user, all; /* user-defined tokens; those and the control tokens */
    bool adds_bos;
    ingot_str chat_template;  /* in the mapped file; n 0: none */
};

/* Scratch space of one call and the ids so far. Zero-initialised. */
typedef struct ingot_encoding {
    ingot_merger merger;
    ingot_text scratch;
    ingot_ids ids;
} ingot_encoding;

void ingot_encoding_free(ingot_encoding *e);
/* Gives the ids away ([*n_ids], freed with ingot_dealloc) when `s` is INGOT_OK, drops them otherwise; frees the rest; returns `s`. */
ingot_status ingot_encoding_finish(ingot_encoding *e, ingot_status s, int32_t **ids, size_t *n_ids);
/* Appends the tokens of text[n]; `special`: control tokens written in it become themselves. INGOT_E_INVALID, INGOT_E_NOMEM. */
ingot_status ingot_encode_text(const ingot_tokenizer *t, ingot_encoding *e, const char *text, size_t n, bool special);
#endif
