/* Arrays that grow while a text is encoded. */
#ifndef INGOT_TOKENIZER_BUFFER_H
#define INGOT_TOKENIZER_BUFFER_H
#include "../gguf/gguf.h"

/* Makes room for `want` elements of `size` bytes in *p, which holds *cap. INGOT_E_NOMEM leaves it as it was. */
ingot_status ingot_buffer_reserve(void **p, size_t *cap, size_t want, size_t size);

typedef struct ingot_ids { int32_t *p; size_t n, cap; } ingot_ids;
typedef struct ingot_text { char *p; size_t n, cap; } ingot_text;
ingot_status ingot_ids_add(ingot_ids *v, int32_t id);
ingot_status ingot_text_add(ingot_text *v, const char *p, size_t n);
#endif
