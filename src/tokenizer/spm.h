/* SentencePiece-style encoding: neighbours are merged by the score of the token that they make; characters that are no
 * token become bytes. */
#ifndef INGOT_TOKENIZER_SPM_H
#define INGOT_TOKENIZER_SPM_H
#include "buffer.h"
#include "merge.h"
#include "strtab.h"
#include "vocab.h"

typedef struct ingot_spm {
    const ingot_vocab *vocab;
    ingot_strtab tokens;        /* text with U+2581 for spaces -> token that merging may make */
    uint32_t max_bytes;         /* longest of them */
    int32_t byte_token[256];    /* -1: none */
    bool before_space[256];     /* some token has this byte right before a U+2581 */
    bool adds_space;            /* a text begins with a space that is not in it */
} ingot_spm;

/* Reads tokenizer.ggml.add_space_prefix; `v` must outlive it. On failure nothing is kept. */
ingot_status ingot_spm_open(ingot_spm *s, const ingot_vocab *v, const ingot_gguf *g);
void ingot_spm_close(ingot_spm *s);
/* Appends the tokens of the valid UTF-8 text[n] (with the space in front where the vocabulary wants one). U+2581 itself,
 * written in the text, becomes bytes: its token means a space. `scratch` is overwritten. */
ingot_status ingot_spm_encode(const ingot_spm *s, ingot_merger *m, ingot_text *scratch, const char *text, size_t n, ingot_ids *out);
#endif
