/* Splitting a text into the words inside which a byte-pair vocabulary may merge, by the model's regular expression. */
#ifndef INGOT_TOKENIZER_PRETOKENIZE_H
#define INGOT_TOKENIZER_PRETOKENIZE_H
#include "../gguf/gguf.h"

typedef struct ingot_pretokenizer ingot_pretokenizer;

/* `name` as in tokenizer.ggml.pre. INGOT_E_UNSUPPORTED (names it and the known ones), INGOT_E_NOMEM. */
ingot_status ingot_pretokenizer_open(ingot_pretokenizer **out, ingot_str name);
void ingot_pretokenizer_close(ingot_pretokenizer *p);
/* A word that is a token is not split further, whatever the merges say. */
bool ingot_pretokenizer_ignores_merges(const ingot_pretokenizer *p);
/* Whether a model with this pre-tokenizer begins a text with BOS when its file does not say. */
bool ingot_pretokenizer_adds_bos(const ingot_pretokenizer *p);

/* One text being split; a thread has its own. */
typedef struct ingot_splitter ingot_splitter;
ingot_status ingot_splitter_open(ingot_splitter **out, const ingot_pretokenizer *p);
void ingot_splitter_close(ingot_splitter *s);
/* End of the word that starts at `at` < n in the valid UTF-8 text[n]; every byte belongs to exactly one word. */
ingot_status ingot_splitter_next(ingot_splitter *s, const char *text, size_t n, size_t at, size_t *end);
#endif
