/* Weight formats against vectors of the Python package gguf (tests/golden/make_wtype.py): EXACT. */
#include "test.h"
#include "wtype_vectors.h"
#include <stdlib.h>

TEST("wtype/every format decodes exactly as ggml") {
    static float x[2048];
    bool seen[64] = {false};
    wtype_vector v;
    for (size_t at = 0; wtype_vector_next(&at, &v);) {
        seen[v.w->type] = true;
        x[v.n] = 77.0f;
        v.w->decode(v.blocks, v.n, x);
        CHECK_MEM(x, v.want, 4 * (size_t)v.n);
        CHECK(x[v.n] == 77.0f); /* nothing behind the last element */
    }
    for (int i = 0; ingot_wtype_at(i); i++) {
        test_case("%s", ingot_wtype_at(i)->name);
        CHECK(seen[ingot_wtype_at(i)->type]);
    }
}

TEST("wtype/blocks decode alone and unaligned as they do together") {
    static float x[2048];
    wtype_vector v;
    for (size_t at = 0; wtype_vector_next(&at, &v);) {
        const size_t bytes = (size_t)v.w->block_bytes, block = (size_t)v.w->block;
        uint8_t *copy = malloc(bytes + 1); /* exactly one block: a sanitizer sees a read behind it */
        if (!CHECK(copy != NULL)) return;
        for (size_t i = 0; i < v.n / block; i++) {
            memcpy(copy + 1, v.blocks + i * bytes, bytes);
            v.w->decode(copy + 1, (int64_t)block, x + i * block);
        }
        CHECK_MEM(x, v.want, 4 * (size_t)v.n);
        v.w->decode(copy, 0, x);
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
