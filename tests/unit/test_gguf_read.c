/* GGUF files that are right: what was written comes back. */
#include "gguf_build.h"
#include "test.h"
#include <stdlib.h>

enum { N_KV = 14 };

/* One key of every kind and three tensors: [32][2] Q8_0 (68 bytes), [3] F32, [256] Q4_K. */
static void build_good(gguf_build *b, uint32_t version) {
    build_header(b, version, 3, N_KV);
    build_key_str(b, "general.architecture", "llama");
    build_key_u32(b, "u32", 4000000000u);
    build_key_i32(b, "i32", -5);
    build_key_u16(b, "u16", 65535);
    build_key(b, "u8", INGOT_GGUF_U8); build_u8(b, 200);
    build_key(b, "i8", INGOT_GGUF_I8); build_u8(b, 0x80);
    build_key(b, "u64", INGOT_GGUF_U64); build_u64(b, UINT64_MAX);
    build_key(b, "i64", INGOT_GGUF_I64); build_u64(b, 77);
    build_key(b, "f64", INGOT_GGUF_F64); build_u64(b, 0);
    build_key_f32(b, "f32", 1e-5f);
    build_key_bool(b, "bool", 1);
    build_key_array(b, "words", INGOT_GGUF_STRING, 3); build_str(b, "one"); build_str(b, ""); build_str(b, "three");
    build_key_array(b, "numbers", INGOT_GGUF_I16, 3); build_u16(b, 1); build_u16(b, 0); build_u16(b, (uint16_t)-3);
    build_key_array(b, "scores", INGOT_GGUF_F32, 2); build_f32(b, 0.5f); build_f32(b, -2.0f);
    build_tensor(b, "blk.0.weight", 32, 2, INGOT_W_Q8_0, 0);
    build_tensor(b, "norm", 3, 0, INGOT_W_F32, 96);
    build_tensor(b, "blk.1.weight", 256, 0, INGOT_W_Q4_K, 128);
    build_data(b, 32, 128 + 144);
}

TEST("gguf/keys of every type come back, v2 and v3") {
    gguf_build b;
    for (uint32_t version = 2; version <= 3; version++) {
        ingot_gguf *g;
        void *image;
        uint32_t u = 0;
        float f = 0;
        bool yes = false, found = false;
        ingot_str s = {0};
        test_case("v%u", version);
        build_good(&b, version);
        if (!CHECK_OK(build_open(&g, &b, &image))) { free(image); return; }
        CHECK_INT(ingot_gguf_file_bytes(g), b.n);
        CHECK_OK(ingot_gguf_get_str(g, "general.architecture", &s, &found));
        CHECK(found && s.n == 5 && memcmp(s.p, "llama", 5) == 0);
        static const struct { const char *key; uint32_t want; } ints[] = {{"u32", 4000000000u}, {"u16", 65535}, {"u8", 200}, {"i64", 77}};
        for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
            CHECK_OK(ingot_gguf_get_u32(g, ints[i].key, &u, &found));
            CHECK(found);
            CHECK_INT(u, ints[i].want);
        }
        CHECK_OK(ingot_gguf_get_f32(g, "f32", &f, &found));
        CHECK(found && f == 1e-5f);
        CHECK_OK(ingot_gguf_get_bool(g, "bool", &yes, &found));
        CHECK(found && yes);
        u = 7;
        CHECK_OK(ingot_gguf_get_u32(g, "absent", &u, &found));
        CHECK(!found && u == 7);
        build_read_all(g);
        ingot_gguf_close(g);
        free(image);
    }
}

TEST("gguf/arrays come back") {
    gguf_build b;
    ingot_gguf *g;
    void *image;
    ingot_gguf_type type;
    uint64_t count;
    bool found, bools[3];
    int32_t ints[3];
    float floats[2];
    ingot_str words[3];
    build_good(&b, 3);
    if (!CHECK_OK(build_open(&g, &b, &image))) { free(image); return; }
    CHECK_OK(ingot_gguf_get_array(g, "words", &type, &count, &found));
    CHECK(found && type == INGOT_GGUF_STRING && count == 3);
    CHECK_OK(ingot_gguf_array_str(g, "words", words, 3));
    CHECK(words[0].n == 3 && words[1].n == 0 && words[2].n == 5 && memcmp(words[2].p, "three", 5) == 0);
    CHECK_OK(ingot_gguf_array_i32(g, "numbers", ints, 3));
    CHECK(ints[0] == 1 && ints[1] == 0 && ints[2] == -3);
    CHECK_OK(ingot_gguf_array_bool(g, "numbers", bools, 3));
    CHECK(bools[0] && !bools[1] && bools[2]);
    CHECK_OK(ingot_gguf_array_f32(g, "scores", floats, 2));
    CHECK(floats[0] == 0.5f && floats[1] == -2.0f);
    CHECK_STATUS(ingot_gguf_array_f32(g, "scores", floats, 3), INGOT_E_FORMAT);
    CHECK_HAS(ingot_last_error(), "key \"scores\" has 2 elements, but 3 are wanted");
    CHECK_STATUS(ingot_gguf_array_i32(g, "scores", ints, 1), INGOT_E_FORMAT);
    CHECK_HAS(ingot_last_error(), "key \"scores\" has the type array of f32, but array of i32 is wanted");
    CHECK_STATUS(ingot_gguf_array_str(g, "numbers", words, 1), INGOT_E_FORMAT);
    CHECK_HAS(ingot_last_error(), "array of i16");
    CHECK_STATUS(ingot_gguf_array_f32(g, "absent", floats, 1), INGOT_E_FORMAT);
    CHECK_HAS(ingot_last_error(), "\"absent\" is missing");
    ingot_gguf_close(g);
    free(image);
}

TEST("gguf/tensors are found by name and lie where they were put") {
    gguf_build b;
    ingot_gguf *g;
    void *image;
    build_good(&b, 3);
    if (!CHECK_OK(build_open(&g, &b, &image))) { free(image); return; }
    const uint8_t *data = (const uint8_t *)image + b.n - (128 + 144);
    const ingot_gguf_tensor *t = ingot_gguf_tensor_find(g, "blk.0.weight"), *norm = ingot_gguf_tensor_find(g, "norm");
    CHECK_INT(ingot_gguf_tensor_count(g), 3);
    if (CHECK(t != NULL && norm != NULL)) {
        CHECK(t == ingot_gguf_tensor_at(g, 0) && t->data == data && t->bytes == 68 && t->n_dims == 2 && t->type == INGOT_W_Q8_0);
        CHECK(t->dims[0] == 32 && t->dims[1] == 2 && t->dims[2] == 1 && t->dims[3] == 1);
        CHECK_STR(t->cname, "blk.0.weight");
        CHECK(norm->data == data + 96 && norm->bytes == 12);
    }
    CHECK(ingot_gguf_tensor_find(g, "blk.0.weigh") == NULL);
    CHECK(ingot_gguf_tensor_find(g, "") == NULL);
    CHECK(ingot_gguf_tensor_at(g, -1) == NULL);
    ingot_gguf_close(g);
    free(image);
}

TEST("gguf/a key of the wrong type or range is refused by name") {
    static const struct { char kind; const char *key, *part; } cases[] = {
        {'u', "f32", "key \"f32\" has the type f32, but u32 is wanted"},
        {'u', "bool", "key \"bool\" has the type bool, but u32 is wanted"},
        {'u', "words", "key \"words\" has the type array of string, but u32 is wanted"},
        {'u', "i32", "key \"i32\" has the value -5, which does not fit into u32"},
        {'u', "i8", "key \"i8\" has the value -128, which"},
        {'u', "u64", "key \"u64\" has the value 18446744073709551615, which"},
        {'f', "u32", "key \"u32\" has the type u32, but f32 is wanted"},
        {'f', "f64", "key \"f64\" has the type f64, but f32 is wanted"},
        {'b', "u8", "key \"u8\" has the type u8, but bool is wanted"},
        {'s', "u32", "key \"u32\" has the type u32, but string is wanted"},
        {'a', "general.architecture", "key \"general.architecture\" has the type string, but array is wanted"},
    };
    gguf_build b;
    ingot_gguf *g;
    void *image;
    build_good(&b, 3);
    if (!CHECK_OK(build_open(&g, &b, &image))) { free(image); return; }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t u = 7;
        float f = 7;
        bool yes = true, found;
        ingot_str s = {NULL, 7};
        ingot_gguf_type type;
        uint64_t count;
        ingot_status got = INGOT_OK;
        test_case("%c %s", cases[i].kind, cases[i].key);
        switch (cases[i].kind) {
        case 'u': got = ingot_gguf_get_u32(g, cases[i].key, &u, &found); break;
        case 'f': got = ingot_gguf_get_f32(g, cases[i].key, &f, &found); break;
        case 'b': got = ingot_gguf_get_bool(g, cases[i].key, &yes, &found); break;
        case 's': got = ingot_gguf_get_str(g, cases[i].key, &s, &found); break;
        case 'a': got = ingot_gguf_get_array(g, cases[i].key, &type, &count, &found); break;
        }
        CHECK_STATUS(got, INGOT_E_FORMAT);
        CHECK_HAS(ingot_last_error(), cases[i].part);
        CHECK(u == 7 && f == 7 && yes && s.n == 7);
    }
    ingot_gguf_close(g);
    free(image);
}

TEST("gguf/alignment of the file is honoured") {
    gguf_build b;
    ingot_gguf *g;
    void *image;
    build_header(&b, 3, 2, 1);
    build_key_u32(&b, "general.alignment", 128);
    build_tensor(&b, "a", 1, 0, INGOT_W_F32, 0);
    build_tensor(&b, "b", 1, 0, INGOT_W_F32, 128);
    build_data(&b, 128, 132);
    if (CHECK_OK(build_open(&g, &b, &image))) {
        const ingot_gguf_tensor *t = ingot_gguf_tensor_find(g, "b");
        if (CHECK(t != NULL)) CHECK((const uint8_t *)t->data == (const uint8_t *)image + b.n - 4);
    }
    ingot_gguf_close(g);
    free(image);
}

TEST("gguf/a file without tensors or keys is a file") {
    gguf_build b;
    ingot_gguf *g;
    void *image;
    build_header(&b, 3, 0, 0);
    CHECK_OK(build_open(&g, &b, &image));
    if (g) CHECK_INT(ingot_gguf_tensor_count(g), 0);
    ingot_gguf_close(g);
    free(image);
}
