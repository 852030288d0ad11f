/* UTF-8 over utf8proc: validity, lengths, white space. */
#ifndef INGOT_TOKENIZER_UTF8_H
#define INGOT_TOKENIZER_UTF8_H
#include "../gguf/gguf.h"

/* U+2581, which stands for a space in the tokens of a SentencePiece vocabulary. */
#define INGOT_SP_SPACE "\xe2\x96\x81"
#define INGOT_SP_SPACE_BYTES 3

/* Bytes of the character that starts with `lead`; the text must be valid. */
static inline uint32_t ingot_utf8_length(unsigned char lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }
/* Reads the character at p[0..n); returns its bytes, or 0 when it is not valid UTF-8. */
size_t ingot_utf8_next(const char *p, size_t n, int32_t *cp);
/* Offset of the first byte that is not valid UTF-8; n when all is. */
size_t ingot_utf8_check(const char *p, size_t n);
/* Without white space at both ends, as Jinja's `trim` (Python's str.strip) does. The text must be valid. */
ingot_str ingot_utf8_trim(ingot_str s);
#endif
