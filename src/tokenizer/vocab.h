/* The vocabulary of a model: token texts, kinds, scores, and the bytes that each token stands for. */
#ifndef INGOT_TOKENIZER_VOCAB_H
#define INGOT_TOKENIZER_VOCAB_H
#include "../gguf/gguf.h"

/* tokenizer.ggml.token_type */
typedef enum ingot_token_kind {
    INGOT_TOKEN_UNDEFINED, INGOT_TOKEN_NORMAL, INGOT_TOKEN_UNKNOWN, INGOT_TOKEN_CONTROL, INGOT_TOKEN_USER, INGOT_TOKEN_UNUSED, INGOT_TOKEN_BYTE
} ingot_token_kind;

typedef enum ingot_vocab_model { INGOT_VOCAB_BPE, INGOT_VOCAB_SPM } ingot_vocab_model;

typedef struct ingot_vocab {
    ingot_vocab_model model;
    int32_t n;
    ingot_str *texts;   /* [n] in the mapped file */
    uint8_t *kinds;     /* [n] ingot_token_kind */
    float *scores;      /* [n] SentencePiece only, else NULL */
    char *bytes;        /* what the tokens decode to, one after the other */
    size_t *byte_at;    /* [n + 1] token i decodes to bytes[byte_at[i]..byte_at[i + 1]) */
    bool *ends;         /* [n] the token ends an answer */
    int32_t bos, eos, unk; /* -1: none */
} ingot_vocab;

/* Reads tokenizer.ggml.{model,tokens,token_type,scores,*_token_id}. On failure nothing is kept.
 * INGOT_E_FORMAT, INGOT_E_UNSUPPORTED (names the model), INGOT_E_NOMEM. */
ingot_status ingot_vocab_open(ingot_vocab *v, const ingot_gguf *g);
void ingot_vocab_close(ingot_vocab *v);

/* What the token stands for in a decoded text, control tokens included. */
static inline ingot_str ingot_vocab_bytes(const ingot_vocab *v, int32_t id) {
    return (ingot_str){v->bytes + v->byte_at[id], v->byte_at[id + 1] - v->byte_at[id]};
}
/* Control and unknown tokens: never part of a text, and never made from one unless the caller asks for it. */
static inline bool ingot_vocab_is_control(const ingot_vocab *v, int32_t id) {
    return v->kinds[id] == INGOT_TOKEN_CONTROL || v->kinds[id] == INGOT_TOKEN_UNKNOWN;
}
/* The byte that a text such as "<0x0A>" names, or -1. */
int ingot_vocab_byte_token(ingot_str text);
#endif
