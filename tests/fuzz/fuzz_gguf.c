/* libFuzzer target: any bytes as a GGUF file. Opens them from memory and reads all that the file offers.
 * Seeds: seeds/fuzz_gguf/, written by make_gguf_seeds.py. */
#include "base/alloc.h"
#include "gguf/gguf.h"
#include "gguf/wtype.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

static void read_bytes(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) sink += ((const uint8_t *)p)[i];
}

static void read_tensors(const ingot_gguf *g) {
    static float x[256];
    for (int i = 0; i < ingot_gguf_tensor_count(g); i++) {
        const ingot_gguf_tensor *t = ingot_gguf_tensor_at(g, i);
        const ingot_wtype_info *w = ingot_wtype_get(t->type);
        if (!w || t->bytes % (uint64_t)w->block_bytes || strlen(t->cname) >= sizeof t->cname) __builtin_trap();
        read_bytes(t->name.p, t->name.n);
        read_bytes(t->data, t->bytes);
        w->decode(t->data, w->block, x);
        if (!memchr(t->name.p, 0, t->name.n) && t->name.n < sizeof t->cname) {
            char name[sizeof t->cname] = {0};
            memcpy(name, t->name.p, t->name.n);
            if (ingot_gguf_tensor_find(g, name) != t) __builtin_trap();
        }
    }
}

static void read_array(const ingot_gguf *g, const char *key) {
    ingot_gguf_type type;
    uint64_t count;
    bool found;
    if (ingot_gguf_get_array(g, key, &type, &count, &found) || !found || count > 1 << 16) return;
    ingot_str *words = ingot_alloc_array(count, sizeof *words, INGOT_MEM_OTHER); /* the largest element: room for all types */
    if (!words) return;
    (void)ingot_gguf_array_i32(g, key, (int32_t *)words, count);
    (void)ingot_gguf_array_f32(g, key, (float *)words, count);
    (void)ingot_gguf_array_bool(g, key, (bool *)words, count);
    if (ingot_gguf_array_str(g, key, words, count) == INGOT_OK)
        for (uint64_t i = 0; i < count; i++) read_bytes(words[i].p, words[i].n);
    ingot_dealloc(words);
}

static void read_key(const ingot_gguf *g, const char *key) {
    uint32_t u;
    float f;
    bool b, found;
    ingot_str s;
    (void)ingot_gguf_get_u32(g, key, &u, &found);
    (void)ingot_gguf_get_f32(g, key, &f, &found);
    (void)ingot_gguf_get_bool(g, key, &b, &found);
    if (ingot_gguf_get_str(g, key, &s, &found) == INGOT_OK && found) read_bytes(s.p, s.n);
    read_array(g, key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* The names of the seeds' keys; mutations keep most of them. */
    static const char *const keys[] = {"general.architecture", "general.alignment", "u", "f", "b", "words", "scores", "flags", "ids", ""};
    ingot_gguf *g;
    if (ingot_gguf_open_memory(&g, data, size)) return 0;
    read_tensors(g);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) read_key(g, keys[i]);
    ingot_gguf_close(g);
    return 0;
}
