/* Inside the GGUF parser: an opened model, made of one or several files. */
#ifndef INGOT_GGUF_FILE_H
#define INGOT_GGUF_FILE_H
#include "gguf.h"
#include "gguf_meta.h"
#include "gguf_tensors.h"

typedef struct gguf_part {
    const uint8_t *base;
    size_t size;
    bool mapped; /* else the caller's memory */
    char *path;  /* owned; NULL for memory */
} gguf_part;

struct ingot_gguf {
    gguf_part *parts;
    int n_parts;
    gguf_meta meta; /* of the first file */
    gguf_tensors tensors;
};

/* Maps a file for reading. INGOT_E_IO / INGOT_E_FORMAT without the path in the message; `part` is empty then. */
ingot_status gguf_map(gguf_part *part, const char *path);
void gguf_unmap(gguf_part *part);

/* What bytes that are no GGUF look like, for a message: "an HTML page (a failed download?)". */
const char *gguf_sniff(const uint8_t *p, size_t n);

/* Maps `path`, parses it, adds it and its tensors to `g`; the keys go to *meta (released by the caller, on failure too).
 * Errors have the path in front. */
ingot_status gguf_add_file(ingot_gguf *g, const char *path, gguf_meta *meta);
/* When the first file, already added, is the first of a split set: adds the others and checks that the set is whole. */
ingot_status gguf_split_add_rest(ingot_gguf *g);
#endif
