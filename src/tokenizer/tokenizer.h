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
/* See ingot_model_tokenize; flags are INGOT_TOKENIZE_* of <ingot/model.h>. *ids freed with ingot_dealloc. */
ingot_status ingot_tokenizer_encode(const ingot_tokenizer *t, const char *text, size_t n, int flags, int32_t **ids, size_t *n_ids);
const char *ingot_tokenizer_bytes(const ingot_tokenizer *t, int32_t id, bool special, size_t *n);

/* Chat: which known format the model's template is (by its markers), "" when it has none; NULL when it is not known. */
const char *ingot_tokenizer_chat_format(const ingot_tokenizer *t);
struct ingot_message;
ingot_status ingot_tokenizer_chat(const ingot_tokenizer *t, const struct ingot_message *m, int n, bool first, bool add_header, int32_t **ids, size_t *n_ids);
#endif
