#include "wtype_vectors.h"
#include "test.h"

static uint8_t file[1 << 17];
static size_t file_bytes;

static void read_file(void) {
    FILE *f = fopen(test_path("golden/wtype_vectors.bin"), "rb");
    file_bytes = 0;
    if (!CHECK(f != NULL)) return;
    file_bytes = fread(file, 1, sizeof file, f);
    fclose(f);
    CHECK(file_bytes > 0 && file_bytes < sizeof file);
}

bool wtype_vector_next(size_t *at, wtype_vector *v) {
    uint32_t head[3]; /* type, bytes of the blocks, elements */
    if (*at == 0) read_file();
    if (*at >= file_bytes) return false;
    if (!CHECK(*at + sizeof head <= file_bytes)) return false;
    memcpy(head, file + *at, sizeof head);
    test_case("type %u", head[0]);
    v->w = ingot_wtype_get(head[0]);
    v->n = head[2];
    v->blocks = file + *at + sizeof head;
    v->want = v->blocks + head[1];
    *at += sizeof head + head[1] + 4 * (size_t)head[2];
    if (!CHECK(*at <= file_bytes) || !CHECK(v->w != NULL)) return false;
    test_case("%s", v->w->name);
    return CHECK_INT((int64_t)head[1] * v->w->block, (int64_t)head[2] * v->w->block_bytes);
}
