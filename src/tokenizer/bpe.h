/* Byte-pair encoding over bytes (GPT-2 and its successors). */
#ifndef INGOT_TOKENIZER_BPE_H
#define INGOT_TOKENIZER_BPE_H
#include "buffer.h"
#include "merge.h"
#include "pretokenize.h"
#include "strtab.h"
#include "vocab.h"

typedef struct ingot_bpe {
    const ingot_vocab *vocab;
    ingot_pretokenizer *words;
    ingot_strtab symbols;   /* bytes -> token, or an id from vocab->n up for what occurs in merges only */
    int32_t n_symbols;
    char byte_texts[256];   /* 0..255, which symbols point at: the struct must stay where it was opened */
    int32_t byte_symbol[256];
    char *merge_bytes;      /* texts of the symbols that are no tokens */
    struct ingot_bpe_rule { uint64_t pair; uint32_t rank; int32_t merged; } *rules; /* hashed by pair; 0: empty */
    size_t rule_mask;
} ingot_bpe;

/* Reads tokenizer.ggml.{pre,merges}; `v` must outlive it. On failure nothing is kept. */
ingot_status ingot_bpe_open(ingot_bpe *b, const ingot_vocab *v, const ingot_gguf *g);
void ingot_bpe_close(ingot_bpe *b);
/* Appends the tokens of the valid UTF-8 text[n]. Bytes for which the vocabulary has no token are left out. */
ingot_status ingot_bpe_encode(const ingot_bpe *b, ingot_merger *m, const char *text, size_t n, ingot_ids *out);
#endif
