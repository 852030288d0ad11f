/* Weight formats against vectors of the Python package gguf (tests/golden/make_wtype.py): EXACT. */
#include "test.h"
#include "gguf/wtype.h"
#include <stdlib.h>

static uint8_t vectors[1 << 17];

static size_t read_vectors(void) {
    FILE *f = fopen(test_path("golden/wtype_vectors.bin"), "rb");
    if (!CHECK(f != NULL)) return 0;
    const size_t n = fread(vectors, 1, sizeof vectors, f);
    fclose(f);
    CHECK(n > 0 && n < sizeof vectors);
    return n;
}

typedef struct vector_record { uint32_t head[3]; const uint8_t *blocks, *want; } vector_record;

static bool next_record(size_t n, size_t *at, vector_record *r) {
    if (*at + sizeof r->head > n) return false;
    memcpy(r->head, vectors + *at, sizeof r->head);
    r->blocks = vectors + *at + sizeof r->head;
    r->want = r->blocks + r->head[1];
    *at += sizeof r->head + r->head[1] + 4 * (size_t)r->head[2];
    return CHECK(*at <= n);
}

TEST("wtype/every format decodes exactly as ggml") {
    static float x[2048];
    const size_t n = read_vectors();
    size_t at = 0;
    bool seen[64] = {false};
    for (vector_record r; next_record(n, &at, &r);) {
        const ingot_wtype_info *w = ingot_wtype_get(r.head[0]);
        test_case("type %u", r.head[0]);
        if (!CHECK(w != NULL)) continue;
        test_case("%s", w->name);
        seen[r.head[0]] = true;
        CHECK_INT((int64_t)r.head[1] * w->block, (int64_t)r.head[2] * w->block_bytes);
        x[r.head[2]] = 77.0f;
        w->decode(r.blocks, r.head[2], x);
        CHECK_MEM(x, r.want, 4 * (size_t)r.head[2]);
        CHECK(x[r.head[2]] == 77.0f); /* nothing behind the last element */
    }
    for (int i = 0; ingot_wtype_at(i); i++) {
        test_case("%s", ingot_wtype_at(i)->name);
        CHECK(seen[ingot_wtype_at(i)->type]);
    }
}

TEST("wtype/blocks decode alone and unaligned as they do together") {
    static float x[2048];
    const size_t n = read_vectors();
    size_t at = 0;
    for (vector_record r; next_record(n, &at, &r);) {
        const ingot_wtype_info *w = ingot_wtype_get(r.head[0]);
        if (!CHECK(w != NULL)) continue;
        test_case("%s", w->name);
        uint8_t *copy = malloc((size_t)w->block_bytes + 1); /* exactly one block: a sanitizer sees a read behind it */
        if (!CHECK(copy != NULL)) return;
        for (uint32_t i = 0; i < r.head[2] / (uint32_t)w->block; i++) {
            memcpy(copy + 1, r.blocks + i * (size_t)w->block_bytes, (size_t)w->block_bytes);
            w->decode(copy + 1, w->block, x + i * (size_t)w->block);
        }
        CHECK_MEM(x, r.want, 4 * (size_t)r.head[2]);
        w->decode(copy, 0, x);
        free(copy);
    }
}

TEST("wtype/table names what exists, what is gone and what never was") {
    static const struct { uint32_t type; const char *name; bool known, removed; } cases[] = {
        {12, "Q4_K", true, false}, {39, "MXFP4", true, false}, {16, "IQ2_XXS", false, false}, {4, "Q4_2", false, true},
        {33, "Q4_0_8_8", false, true}, {42, "unknown", false, false}, {255, "unknown", false, false}, {UINT32_MAX, "unknown", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_case("type %u", cases[i].type);
        CHECK_STR(ingot_wtype_any_name(cases[i].type), cases[i].name);
        CHECK_INT(ingot_wtype_is_removed(cases[i].type), cases[i].removed);
        CHECK_INT(ingot_wtype_get(cases[i].type) != NULL, cases[i].known);
    }
    for (int i = 0; ingot_wtype_at(i); i++) {
        const ingot_wtype_info *w = ingot_wtype_at(i);
        CHECK_STR(ingot_wtype_any_name((uint32_t)w->type), w->name);
        CHECK(ingot_wtype_get((uint32_t)w->type) == w);
    }
}
