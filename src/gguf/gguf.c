#include "gguf_file.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <inttypes.h>
#include <string.h>

static const char *const ALIGNMENT_KEY = "general.alignment";
enum { DEFAULT_ALIGNMENT = 32, MIN_ALIGNMENT = 8, MAX_ALIGNMENT = 1 << 24 };

static ingot_status check_version(uint32_t version) {
    if (version == 2 || version == 3) return INGOT_OK;
    if (version && (version & 0xffff) == 0)
        return ingot_fail(INGOT_E_UNSUPPORTED, "is a big-endian GGUF file (version %" PRIu32 "); only little-endian ones are supported",
                          version >> 24 | (version >> 8 & 0xff00));
    return ingot_fail(INGOT_E_UNSUPPORTED, "has GGUF version %" PRIu32 "; 2 and 3 are supported", version);
}

typedef struct gguf_header { uint64_t n_tensors, n_kv; } gguf_header;

static ingot_status take_header(gguf_cursor *c, gguf_header *h) {
    uint32_t version;
    if (c->size >= 4 && memcmp(c->base, "FUGG", 4) == 0)
        return ingot_fail(INGOT_E_UNSUPPORTED, "is a big-endian GGUF file; only little-endian ones are supported");
    if (c->size < 4 || memcmp(c->base, "GGUF", 4) != 0)
        return ingot_fail(INGOT_E_FORMAT, "is no GGUF file but looks like %s", gguf_sniff(c->base, (size_t)c->size));
    c->pos = 4;
    INGOT_TRY(gguf_take_u32(c, "the version", &version));
    INGOT_TRY(check_version(version));
    INGOT_TRY(gguf_take_u64(c, "the number of tensors", &h->n_tensors));
    return gguf_take_u64(c, "the number of keys", &h->n_kv);
}

static ingot_status get_alignment(const gguf_meta *meta, uint32_t *alignment) {
    bool found;
    *alignment = DEFAULT_ALIGNMENT;
    INGOT_TRY(gguf_meta_u32(meta, ALIGNMENT_KEY, alignment, &found));
    if (*alignment < MIN_ALIGNMENT || *alignment > MAX_ALIGNMENT || (*alignment & (*alignment - 1)))
        return ingot_fail(INGOT_E_FORMAT, "key \"%s\" is %" PRIu32 "; a power of two from %d to %d is possible", ALIGNMENT_KEY,
                          *alignment, MIN_ALIGNMENT, MAX_ALIGNMENT);
    return INGOT_OK;
}

static ingot_status parse_part(gguf_tensors *tensors, gguf_meta *meta, const gguf_part *part) {
    gguf_cursor c = {part->base, part->size, 0};
    gguf_header h;
    uint32_t alignment;
    INGOT_TRY(take_header(&c, &h));
    INGOT_TRY(gguf_meta_parse(meta, &c, h.n_kv));
    INGOT_TRY(get_alignment(meta, &alignment));
    return gguf_tensors_parse(tensors, &c, h.n_tensors, alignment);
}

/* A new empty part at the end, released by ingot_gguf_close. */
static ingot_status add_part(ingot_gguf *g, gguf_part **part) {
    *part = NULL;
    gguf_part *grown = ingot_realloc(g->parts, ((size_t)g->n_parts + 1) * sizeof *grown, INGOT_MEM_OTHER);
    if (!grown) return ingot_fail(INGOT_E_NOMEM, "no memory for the list of files");
    g->parts = grown;
    *part = &grown[g->n_parts++];
    **part = (gguf_part){0};
    return INGOT_OK;
}

ingot_status gguf_add_file(ingot_gguf *g, const char *path, gguf_meta *meta) {
    gguf_part *part;
    *meta = (gguf_meta){0};
    INGOT_TRY(add_part(g, &part));
    part->path = ingot_strdup(path, INGOT_MEM_OTHER);
    if (!part->path) return ingot_fail(INGOT_E_NOMEM, "no memory for the path %s", path);
    ingot_status s = gguf_map(part, path);
    if (s == INGOT_OK) s = parse_part(&g->tensors, meta, part);
    return s ? ingot_fail_prefix(s, "%s", path) : INGOT_OK;
}

/* The path of the file that holds a tensor. */
static const char *path_of(const ingot_gguf *g, const ingot_gguf_tensor *t) {
    for (int i = 0; i < g->n_parts; i++) {
        const uintptr_t base = (uintptr_t)g->parts[i].base, at = (uintptr_t)t->data;
        if (g->parts[i].path && at >= base && at - base < g->parts[i].size) return g->parts[i].path;
    }
    return NULL;
}

static ingot_status finish(ingot_gguf *g) {
    const ingot_gguf_tensor *second = NULL;
    const ingot_status s = gguf_tensors_index(&g->tensors, &second);
    const char *path = second ? path_of(g, second) : NULL;
    return path ? ingot_fail_prefix(s, "%s", path) : s;
}

static ingot_status add_all_files(ingot_gguf *g, const char *path) {
    INGOT_TRY(gguf_add_file(g, path, &g->meta));
    INGOT_TRY(gguf_split_add_rest(g));
    return finish(g);
}

static ingot_status add_memory(ingot_gguf *g, const void *data, size_t n) {
    gguf_part *part;
    uint32_t count = 0;
    bool found;
    INGOT_TRY(add_part(g, &part));
    part->base = data;
    part->size = n;
    INGOT_TRY(parse_part(&g->tensors, &g->meta, part));
    INGOT_TRY(gguf_meta_u32(&g->meta, "split.count", &count, &found));
    if (count > 1) return ingot_fail(INGOT_E_UNSUPPORTED, "this is one of %" PRIu32 " files of a split model: open it by its path", count);
    return finish(g);
}

static ingot_status create(ingot_gguf **g) {
    *g = ingot_alloc(sizeof **g, INGOT_MEM_OTHER);
    return *g ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "no memory to open a model file");
}

static ingot_status deliver(ingot_gguf **out, ingot_gguf *g, ingot_status s) {
    if (s) ingot_gguf_close(g);
    else *out = g;
    return s;
}

ingot_status ingot_gguf_open(ingot_gguf **out, const char *path) {
    ingot_gguf *g;
    *out = NULL;
    INGOT_TRY(create(&g));
    return deliver(out, g, add_all_files(g, path));
}

ingot_status ingot_gguf_open_memory(ingot_gguf **out, const void *data, size_t n) {
    ingot_gguf *g;
    *out = NULL;
    INGOT_TRY(create(&g));
    return deliver(out, g, add_memory(g, data, n));
}

void ingot_gguf_close(ingot_gguf *g) {
    if (!g) return;
    for (int i = 0; i < g->n_parts; i++) {
        gguf_unmap(&g->parts[i]);
        ingot_dealloc(g->parts[i].path);
    }
    ingot_dealloc(g->parts);
    gguf_meta_free(&g->meta);
    gguf_tensors_free(&g->tensors);
    ingot_dealloc(g);
}

size_t ingot_gguf_file_bytes(const ingot_gguf *g) {
    size_t bytes = 0;
    for (int i = 0; i < g->n_parts; i++) bytes += g->parts[i].size;
    return bytes;
}

int ingot_gguf_tensor_count(const ingot_gguf *g) { return g->tensors.n; }

const ingot_gguf_tensor *ingot_gguf_tensor_at(const ingot_gguf *g, int i) {
    return i >= 0 && i < g->tensors.n ? &g->tensors.t[i] : NULL;
}

const ingot_gguf_tensor *ingot_gguf_tensor_find(const ingot_gguf *g, const char *name) {
    return ingot_gguf_tensor_at(g, gguf_index_find(g->tensors.index, g->tensors.n, name));
}
