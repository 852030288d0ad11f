/* The alphabet in which byte-level vocabularies write bytes: each of the 256 has one printable character. */
#ifndef INGOT_TOKENIZER_BYTE_ALPHABET_H
#define INGOT_TOKENIZER_BYTE_ALPHABET_H
#include "../gguf/gguf.h"

/* Decodes text[n] to bytes at `out` (room for n) and returns how many; -1 when a character is not of the alphabet. */
int64_t ingot_byte_alphabet_decode(const char *text, size_t n, char *out);
#endif
