/* What the tokenizer tests share: tiny tokenizers, golden files, comparisons that say what was wrong. */
#ifndef INGOT_TEST_TOKENIZER_FIXTURE_H
#define INGOT_TEST_TOKENIZER_FIXTURE_H
#include "tokenizer/tokenizer.h"
#include "tokenizer_vocab.h"

typedef struct tiny { vocab_image image; ingot_gguf *g; ingot_tokenizer *t; } tiny;

/* Opens the tokenizer that `spec` describes (t NULL on failure). */
ingot_status tiny_open(tiny *y, const vocab_spec *spec);
void tiny_close(tiny *y);

/* Encodes and compares with ids written as "1 2 3" ("" for none). */
bool check_ids(const ingot_tokenizer *t, const char *text, int flags, const char *want);
/* Encodes, renders each token in angle quotes, such as "‹he›‹llo›", and compares. */
bool check_pieces(const ingot_tokenizer *t, const char *text, int flags, const char *want);
/* decode(encode(text)) is the text. */
bool check_round_trip(const ingot_tokenizer *t, const char *text, size_t n);
/* Ids against ids; says where they part. */
bool check_same_ids(const int32_t *got, size_t n_got, const int32_t *want, size_t n_want);

/* A whole file (golden/... or data/...), NUL-terminated; freed with free(). Fails the test when it cannot be read. */
char *read_file(const char *rel, size_t *n);
/* Cuts `line` at its tabs into at most `max` fields; returns how many. */
int split_fields(char *line, char **fields, int max);
/* Next line of *cursor without its line end, or NULL. */
char *next_line(char **cursor);
/* Hexadecimal to bytes in place ("-" is the empty text); returns their number. */
size_t unhex(char *s);
/* Numbers separated by spaces ("-": none) to an array, freed with free(). */
int32_t *parse_numbers(const char *s, size_t *n);
uint64_t fnv1a_ids(const int32_t *ids, size_t n);

/* The tokenizer of a test model; NULL (and the test skipped) when the model is not there. */
typedef struct model_tokenizer { ingot_gguf *g; ingot_tokenizer *t; } model_tokenizer;
bool model_tokenizer_open(model_tokenizer *m, const char *name);
void model_tokenizer_close(model_tokenizer *m);
#endif
