/* Tokenizers read from GGUF metadata, and chat formats. Immutable after opening; thread-safe for reading. */
#ifndef INGOT_TOKENIZER_H
#define INGOT_TOKENIZER_H
#include "../gguf/gguf.h"

typedef struct ingot_tokenizer ingot_tokenizer;

ingot_status ingot_tokenizer_open(ingot_tokenizer **out, const ingot_gguf *g); /* g must outlive it */
void ingot_tokenizer_close(ingot_tokenizer *t);

int ingot_tokenizer_size(const ingot_tokenizer *t); /* vocabulary */
int32_t ingot_tokenizer_bos(const ingot_tokenizer *t);
bool ingot_tokenizer_adds_bos(const ingot_tokenizer *t);
bool ingot_tokenizer_is_end(const ingot_tokenizer *t, int32_t id);
/* See ingot_model_tokenize; flags are INGOT_TOKENIZE_* of <ingot/model.h>. *ids freed with ingot_dealloc.
 * User-defined tokens are matched always, control tokens with INGOT_TOKENIZE_SPECIAL only: no other text becomes one. Bytes
 * for which a byte-level vocabulary has no token (SmolLM2 lacks some control characters) are left out. */
ingot_status ingot_tokenizer_encode(const ingot_tokenizer *t, const char *text, size_t n, int flags, int32_t **ids, size_t *n_ids);
const char *ingot_tokenizer_bytes(const ingot_tokenizer *t, int32_t id, bool special, size_t *n);
/* The text of ids[n_ids] as a whole, without the space that some vocabularies put in front of a text, so that it undoes
 * encoding; control tokens give "" unless `special`. *text [*n] is NUL-terminated and freed with ingot_dealloc.
 * INGOT_E_INVALID (an id outside the vocabulary), INGOT_E_NOMEM. */
ingot_status ingot_tokenizer_decode(const ingot_tokenizer *t, const int32_t *ids, size_t n_ids, bool special, char **text, size_t *n);

/* Chat: which known format the model's template is (by its markers), "" when it has none; NULL when it is not known. */
const char *ingot_tokenizer_chat_format(const ingot_tokenizer *t);
/* The token that ends an answer in this format (EOS when the format is not known), or -1. */
int32_t ingot_tokenizer_chat_end(const ingot_tokenizer *t);
struct ingot_message;
/* See ingot_model_chat_tokens. When not `first` the tokens continue a conversation whose last token was
 * ingot_tokenizer_chat_end: whoever keeps the cache appends it also when the answer was cut short. */
ingot_status ingot_tokenizer_chat(const ingot_tokenizer *t, const struct ingot_message *m, int n, bool first, bool add_header, int32_t **ids, size_t *n_ids);
#endif
