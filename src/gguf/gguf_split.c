/* Split sets as gguf-split writes them: NAME-00001-of-0000N.gguf; each file has split.no (from 0), split.count and
 * split.tensors.count (of the whole set), its own tensors, and only the first has the model's keys. */
#include "gguf_file.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct split { uint32_t no, count, n_tensors; } split;

/* Limit of the five digits in a file's name. */
enum { MAX_PARTS = 99999 };

static ingot_status need_u32(const gguf_meta *meta, const char *key, uint32_t *v) {
    bool found;
    INGOT_TRY(gguf_meta_u32(meta, key, v, &found));
    return found ? INGOT_OK : ingot_fail(INGOT_E_FORMAT, "is a file of a split model, but the key \"%s\" is missing", key);
}

static ingot_status read_split(const gguf_meta *meta, split *s) {
    INGOT_TRY(need_u32(meta, "split.count", &s->count));
    INGOT_TRY(need_u32(meta, "split.no", &s->no));
    return need_u32(meta, "split.tensors.count", &s->n_tensors);
}

/* The tail of a part's name, no from 1. */
static void tail(char text[40], uint32_t no, uint32_t count) { snprintf(text, 40, "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", no, count); }

static bool ends_with(const char *path, const char *end) {
    const size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static ingot_status check_first(const char *path, const split *s) {
    char want[40];
    if (s->count > MAX_PARTS) return ingot_fail(INGOT_E_FORMAT, "key \"split.count\" is %" PRIu32 ", more than %d", s->count, MAX_PARTS);
    tail(want, 1, s->count);
    if (s->no != 0)
        return ingot_fail(INGOT_E_INVALID, "is file %" PRIu64 " of the %" PRIu32 " of a split model: open the first one, *%s",
                          (uint64_t)s->no + 1, s->count, want);
    if (!ends_with(path, want))
        return ingot_fail(INGOT_E_INVALID, "is the first of the %" PRIu32 " files of a split model, so its name must end in %s",
                          s->count, want);
    return INGOT_OK;
}

static ingot_status check_part(const gguf_meta *meta, uint32_t no, const split *first) {
    split s;
    INGOT_TRY(read_split(meta, &s));
    if (s.no != no || s.count != first->count)
        return ingot_fail(INGOT_E_FORMAT, "says it is file %" PRIu64 " of %" PRIu32 " of a split model, but file %" PRIu32 " of %" PRIu32
                          " is wanted", (uint64_t)s.no + 1, s.count, no + 1, first->count);
    return INGOT_OK;
}

static ingot_status add_part(ingot_gguf *g, const char *path, uint32_t no, const split *first) {
    gguf_meta meta;
    ingot_status s = gguf_add_file(g, path, &meta);
    if (s == INGOT_OK) {
        s = check_part(&meta, no, first);
        if (s) ingot_fail_prefix(s, "%s", path);
    }
    gguf_meta_free(&meta);
    return s;
}

/* `path` is the first file's, in a buffer that is changed into the others'. */
static ingot_status add_parts(ingot_gguf *g, char *path, const split *first) {
    char end[40];
    tail(end, 1, first->count);
    char *at = path + strlen(path) - strlen(end);
    for (uint32_t no = 1; no < first->count; no++) {
        tail(end, no + 1, first->count);
        memcpy(at, end, strlen(end));
        INGOT_TRY(add_part(g, path, no, first));
    }
    if ((uint32_t)g->tensors.n != first->n_tensors)
        return ingot_fail(INGOT_E_FORMAT, "%s: the %" PRIu32 " files have %d tensors, but its key \"split.tensors.count\" is %" PRIu32,
                          g->parts[0].path, first->count, g->tensors.n, first->n_tensors);
    return INGOT_OK;
}

ingot_status gguf_split_add_rest(ingot_gguf *g) {
    const char *path = g->parts[0].path;
    split first = {0};
    bool found;
    ingot_status s = gguf_meta_u32(&g->meta, "split.count", &first.count, &found);
    if (s == INGOT_OK && first.count <= 1) return INGOT_OK;
    if (s == INGOT_OK) s = read_split(&g->meta, &first);
    if (s == INGOT_OK) s = check_first(path, &first);
    if (s) return ingot_fail_prefix(s, "%s", path);

    char *buffer = ingot_strdup(path, INGOT_MEM_OTHER);
    if (!buffer) return ingot_fail(INGOT_E_NOMEM, "no memory for the path %s", path);
    s = add_parts(g, buffer, &first);
    ingot_dealloc(buffer);
    return s;
}
