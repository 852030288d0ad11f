/* GGUF files that are wrong: refused with a message that names the culprit, or a consistent object; never a crash. */
#include "gguf_build.h"
#include "test.h"
#include "base/alloc.h"
#include "base/rng.h"
#include <stdlib.h>

static const ingot_status FORMAT = INGOT_E_FORMAT, UNSUPPORTED = INGOT_E_UNSUPPORTED;

TEST("gguf/hostile header") {
    static const struct { const char *bytes; size_t n; ingot_status status; const char *part; } cases[] = {
        {"", 0, INGOT_E_FORMAT, "only a few bytes"},
        {"GG", 2, INGOT_E_FORMAT, "only a few bytes"},
        {"GGUF", 4, INGOT_E_FORMAT, "the version takes 4 bytes at byte 4"},
        {"GGUF\3\0\0\0\1\0\0\0", 12, INGOT_E_FORMAT, "the number of tensors"},
        {"GGUF\0\0\0\3", 8, INGOT_E_UNSUPPORTED, "big-endian GGUF file (version 3)"},
        {"FUGG\0\0\0\3", 8, INGOT_E_UNSUPPORTED, "big-endian"},
        {"GGUF\1\0\0\0", 8, INGOT_E_UNSUPPORTED, "GGUF version 1; 2 and 3"},
        {"GGUF\4\0\0\0", 8, INGOT_E_UNSUPPORTED, "GGUF version 4; 2 and 3"},
        {"GGUF\0\0\0\0", 8, INGOT_E_UNSUPPORTED, "GGUF version 0"},
        {"<!DOCTYPE html><html>", 21, INGOT_E_FORMAT, "HTML page"},
        {"\xef\xbb\xbf\n <HTML lang=de>", 19, INGOT_E_FORMAT, "HTML page"},
        {"<?xml version='1.0'?><Error>", 28, INGOT_E_FORMAT, "XML"},
        {"{\"error\": \"not found\"}", 22, INGOT_E_FORMAT, "JSON"},
        {"version https://git-lfs.github.com/spec/v1\noid", 46, INGOT_E_FORMAT, "Git LFS pointer"},
        {"not a model at all", 18, INGOT_E_FORMAT, "a text"},
        {"PK\3\4....", 8, INGOT_E_FORMAT, "zip"},
        {"tjgg\1\0\0\0", 8, INGOT_E_FORMAT, "before GGUF"},
        {"\4\0\0\0\0\0\0\0{\"a\"}", 13, INGOT_E_FORMAT, "safetensors"},
        {"\0\0\0\0\0\0\0\0", 8, INGOT_E_FORMAT, "zeros"},
        {"\xde\xad\xbe\xef", 4, INGOT_E_FORMAT, "unknown data"},
    };
    gguf_build b;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_case("%s", cases[i].part);
        b.n = 0;
        build_raw(&b, cases[i].bytes, cases[i].n);
        build_check_refused(&b, cases[i].status, cases[i].part);
    }
}

TEST("gguf/hostile counts") {
    static const uint64_t counts[] = {1, 2, 1ull << 31, 1ull << 32, 1ull << 40, INT64_MAX, UINT64_MAX / 2, UINT64_MAX};
    gguf_build b;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char part[64];
        test_case("%llu keys", (unsigned long long)counts[i]);
        snprintf(part, sizeof part, "claims %llu keys", (unsigned long long)counts[i]);
        build_header(&b, 3, 0, counts[i]);
        build_check_refused(&b, FORMAT, part);
        test_case("%llu tensors", (unsigned long long)counts[i]);
        snprintf(part, sizeof part, "claims %llu tensors", (unsigned long long)counts[i]);
        build_header(&b, 3, counts[i], 1);
        build_key_u32(&b, "a", 1);
        build_check_refused(&b, FORMAT, part);
    }
}

/* A file with one key whose bytes a case writes, and 64 bytes behind it. */
static void refuse_key(const gguf_build *kv, ingot_status status, const char *part) {
    gguf_build b;
    test_case("%s", part);
    build_header(&b, 3, 0, 1);
    build_raw(&b, kv->p, kv->n);
    build_data(&b, 1, 64);
    build_check_refused(&b, status, part);
}

TEST("gguf/hostile names of keys") {
    static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, 1ull << 63, 1ull << 32, 1000};
    gguf_build kv;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char part[64];
        snprintf(part, sizeof part, "key 1 of 1: its name takes %llu bytes", (unsigned long long)lengths[i]);
        kv.n = 0;
        build_u64(&kv, lengths[i]);
        refuse_key(&kv, FORMAT, part);
    }
    kv.n = 0;
    build_key_u32(&kv, "", 5);
    refuse_key(&kv, FORMAT, "key 1 of 1: its name is empty");
}

TEST("gguf/a key longer than the specification allows") {
    static uint8_t image[70000];
    gguf_build b;
    ingot_gguf *g;
    build_header(&b, 3, 0, 1);
    build_u64(&b, 65536);
    memset(image, 'k', sizeof image);
    memcpy(image, b.p, b.n);
    CHECK_STATUS(ingot_gguf_open_memory(&g, image, sizeof image), FORMAT);
    CHECK_HAS(ingot_last_error(), "its name has 65536 bytes, more than 65535");
}

TEST("gguf/hostile values of keys") {
    gguf_build kv;
    kv.n = 0; build_key(&kv, "odd", 13);
    refuse_key(&kv, FORMAT, "\"odd\": the value type is 13");
    kv.n = 0; build_key(&kv, "odd", UINT32_MAX);
    refuse_key(&kv, FORMAT, "\"odd\": the value type is 4294967295");
    kv.n = 0; build_key(&kv, "text", INGOT_GGUF_STRING); build_u64(&kv, UINT64_MAX);
    refuse_key(&kv, FORMAT, "\"text\": the string takes 18446744073709551615 bytes");
    kv.n = 0; build_key_array(&kv, "list", 13, 1);
    refuse_key(&kv, FORMAT, "\"list\": the element type is 13");
    kv.n = 0; build_key_array(&kv, "list", INGOT_GGUF_ARRAY, 1);
    refuse_key(&kv, UNSUPPORTED, "\"list\": arrays of arrays");
    kv.n = 0; build_key_array(&kv, "list", INGOT_GGUF_U8, 1ull << 40);
    refuse_key(&kv, FORMAT, "\"list\": an array of 1099511627776 elements");
    kv.n = 0; build_key_array(&kv, "list", INGOT_GGUF_U64, (1ull << 61) + 1); /* times 8 wraps to 8 */
    refuse_key(&kv, FORMAT, "\"list\": an array of 2305843009213693953 elements");
    kv.n = 0; build_key_array(&kv, "list", INGOT_GGUF_STRING, 1ull << 40);
    refuse_key(&kv, FORMAT, "\"list\": an array of 1099511627776 elements");
    kv.n = 0; build_key_array(&kv, "list", INGOT_GGUF_STRING, 2); build_str(&kv, "fine"); build_u64(&kv, 1000);
    refuse_key(&kv, FORMAT, "\"list\": a string of the array takes 1000 bytes");
    kv.n = 0; build_key_u32(&kv, "line\nbreak\x1b[2J", 1); kv.p[kv.n - 8] = 99;
    refuse_key(&kv, FORMAT, "\"line?break?[2J\": the value type is 99"); /* no control characters reach the terminal */
}

TEST("gguf/bools other than 0 and 1") {
    gguf_build b;
    ingot_gguf *g;
    void *image;
    bool v[2], found;
    build_header(&b, 3, 0, 2);
    build_key_bool(&b, "flag", 2);
    build_key_array(&b, "flags", INGOT_GGUF_BOOL, 2); build_u8(&b, 1); build_u8(&b, 255);
    if (CHECK_OK(build_open(&g, &b, &image))) {
        CHECK_STATUS(ingot_gguf_get_bool(g, "flag", v, &found), FORMAT);
        CHECK_HAS(ingot_last_error(), "\"flag\" has a bool with the value 2");
        CHECK_STATUS(ingot_gguf_array_bool(g, "flags", v, 2), FORMAT);
        CHECK_HAS(ingot_last_error(), "\"flags\" has a bool with the value 255");
    }
    ingot_gguf_close(g);
    free(image);
}

TEST("gguf/the same key twice") {
    gguf_build b;
    build_header(&b, 3, 0, 3);
    build_key_u32(&b, "twin", 1);
    build_key_u32(&b, "other", 1);
    build_key_f32(&b, "twin", 2);
    build_check_refused(&b, FORMAT, "the key \"twin\" is there twice");
}

TEST("gguf/hostile alignment") {
    static const uint32_t values[] = {0, 1, 4, 24, 33, 1u << 25, 1u << 31, UINT32_MAX};
    gguf_build b;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char part[64];
        snprintf(part, sizeof part, "\"general.alignment\" is %u;", values[i]);
        test_case("%s", part);
        build_header(&b, 3, 1, 1);
        build_key_u32(&b, "general.alignment", values[i]);
        build_tensor(&b, "a", 1, 0, INGOT_W_F32, 0);
        build_data(&b, 32, 64);
        build_check_refused(&b, FORMAT, part);
    }
    build_header(&b, 3, 0, 1);
    build_key_str(&b, "general.alignment", "32");
    build_check_refused(&b, FORMAT, "\"general.alignment\" has the type string, but u32 is wanted");
}

/* A file with a good tensor of 32 bytes, one whose bytes a case writes, and 256 bytes of data. */
static void refuse_tensor(const gguf_build *t, ingot_status status, const char *part) {
    gguf_build b;
    test_case("%s", part);
    build_header(&b, 3, 2, 0);
    build_tensor(&b, "good", 8, 0, INGOT_W_F32, 0);
    build_raw(&b, t->p, t->n);
    build_data(&b, 32, 256);
    build_check_refused(&b, status, part);
}

TEST("gguf/hostile names of tensors") {
    gguf_build t;
    t.n = 0; build_u64(&t, UINT64_MAX);
    refuse_tensor(&t, FORMAT, "tensor 2 of 2: its name takes 18446744073709551615 bytes");
    t.n = 0; build_tensor(&t, "", 8, 0, INGOT_W_F32, 32);
    refuse_tensor(&t, FORMAT, "tensor 2 of 2: its name is empty");
    t.n = 0; build_tensor(&t, "good", 8, 0, INGOT_W_F32, 32);
    refuse_tensor(&t, FORMAT, "the tensor \"good\" is there twice");
}

TEST("gguf/hostile dimensions") {
    static const uint32_t counts[] = {0, 5, 9, 1u << 31, UINT32_MAX};
    static const uint64_t sizes[] = {0, 1ull << 31, 1ull << 32, (1ull << 32) + 1, 1ull << 63, UINT64_MAX};
    gguf_build t;
    char part[96];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(part, sizeof part, "tensor 2 of 2: \"bad\": it has %u dimensions", counts[i]);
        t.n = 0; build_str(&t, "bad"); build_u32(&t, counts[i]);
        refuse_tensor(&t, FORMAT, part);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(part, sizeof part, "tensor 2 of 2: \"bad\": dimension 1 is %llu", (unsigned long long)sizes[i]);
        t.n = 0; build_str(&t, "bad"); build_u32(&t, 2); build_u64(&t, 1); build_u64(&t, sizes[i]); build_u32(&t, 0); build_u64(&t, 32);
        refuse_tensor(&t, FORMAT, part);
    }
    /* 2^30 * 2^30 * 2^4 elements of 4 bytes: 2^66 wraps to 4. */
    t.n = 0; build_str(&t, "bad"); build_u32(&t, 4);
    build_u64(&t, 1u << 30); build_u64(&t, 1u << 30); build_u64(&t, 1u << 4); build_u64(&t, 1); build_u32(&t, INGOT_W_F32); build_u64(&t, 32);
    refuse_tensor(&t, FORMAT, "tensor 2 of 2: \"bad\": 1073741824 x 1073741824 x 16 x 1 elements of type F32 are more than any file holds");
    t.n = 0; build_tensor(&t, "bad", 48, 1, INGOT_W_Q4_0, 32);
    refuse_tensor(&t, FORMAT, "tensor 2 of 2: \"bad\": its rows of 48 elements are no multiple of the Q4_0 block of 32");
    t.n = 0; build_tensor(&t, "bad", 128, 2, INGOT_W_Q6_K, 32); /* 256 elements, but no row is a block */
    refuse_tensor(&t, FORMAT, "tensor 2 of 2: \"bad\": its rows of 128 elements are no multiple of the Q6_K block of 256");
}

TEST("gguf/hostile types of tensors") {
    static const struct { uint32_t type; ingot_status status; const char *part; } cases[] = {
        {255, INGOT_E_FORMAT, "tensor 2 of 2: \"bad\": it has type 255, which is unknown"},
        {UINT32_MAX, INGOT_E_FORMAT, "tensor 2 of 2: \"bad\": it has type 4294967295, which is unknown"},
        {4, INGOT_E_UNSUPPORTED, "tensor 2 of 2: \"bad\": it has type Q4_2 (4), which was removed"},
        {31, INGOT_E_UNSUPPORTED, "tensor 2 of 2: \"bad\": it has type Q4_0_4_4 (31), which was removed"},
        {16, INGOT_E_UNSUPPORTED, "tensor 2 of 2: \"bad\": it has type IQ2_XXS (16), which is not supported"},
    };
    gguf_build t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t.n = 0; build_tensor(&t, "bad", 256, 0, cases[i].type, 32);
        refuse_tensor(&t, cases[i].status, cases[i].part);
    }
}

TEST("gguf/hostile offsets") {
    static const struct { uint64_t offset; const char *part; } cases[] = {
        {33, "tensor \"bad\": its offset 33 is no multiple of the alignment 32"},
        {256, "tensor \"bad\": its 32 bytes at offset 256 end behind the 256 bytes of data"},
        {288, "tensor \"bad\": its 32 bytes at offset 288"},
        {1ull << 63, "tensor \"bad\": its 32 bytes at offset 9223372036854775808"},
        {UINT64_MAX - 31, "tensor \"bad\": its 32 bytes at offset 18446744073709551584"}, /* offset + 32 wraps to 0 */
        {0, "tensor \"bad\" at offset 0 overlaps \"good\", which ends at 32"},
    };
    gguf_build t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t.n = 0; build_tensor(&t, "bad", 8, 0, INGOT_W_F32, cases[i].offset);
        refuse_tensor(&t, FORMAT, cases[i].part);
    }
    t.n = 0; build_tensor(&t, "bad", 57, 0, INGOT_W_F32, 32); /* 228 bytes where 224 are left */
    refuse_tensor(&t, FORMAT, "tensor \"bad\": its 228 bytes at offset 32 end behind the 256 bytes of data");
}

/* Small, with something of each kind that the parser reads. */
static void build_small(gguf_build *b) {
    build_header(b, 3, 2, 4);
    build_key_str(b, "general.architecture", "llama");
    build_key_u32(b, "general.alignment", 32);
    build_key_array(b, "words", INGOT_GGUF_STRING, 2); build_str(b, "a"); build_str(b, "bc");
    build_key_array(b, "scores", INGOT_GGUF_F32, 2); build_f32(b, 1); build_f32(b, 2);
    build_tensor(b, "a", 32, 2, INGOT_W_Q4_0, 0);
    build_tensor(b, "b", 4, 0, INGOT_W_F32, 64);
    build_data(b, 32, 80);
}

/* Opens, reads everything when that works; true when it opened. */
static bool open_and_read(const gguf_build *b) {
    ingot_gguf *g;
    void *image;
    const ingot_status s = build_open(&g, b, &image);
    CHECK((s == INGOT_OK) == (g != NULL));
    if (g) {
        float scores[2];
        ingot_str words[2];
        build_read_all(g);
        (void)ingot_gguf_array_f32(g, "scores", scores, 2);
        if (ingot_gguf_array_str(g, "words", words, 2) == INGOT_OK) CHECK(words[0].n < b->n && words[1].n < b->n);
    } else {
        CHECK(ingot_last_error()[0] != 0);
    }
    ingot_gguf_close(g);
    free(image);
    return s == INGOT_OK;
}

TEST("gguf/truncated at every byte") {
    gguf_build b;
    build_small(&b);
    const size_t whole = b.n;
    CHECK(open_and_read(&b));
    for (b.n = 0; b.n < whole; b.n++) {
        test_case("%zu of %zu bytes", b.n, whole);
        CHECK(!open_and_read(&b)); /* every byte of this file is needed */
    }
}

TEST("gguf/every bit flipped, and random bytes") {
    gguf_build good, b;
    int opened = 0;
    build_small(&good);
    for (size_t i = 0; i < 8 * good.n; i++) {
        test_case("bit %zu", i);
        b = good;
        b.p[i / 8] ^= (uint8_t)(1 << i % 8);
        opened += open_and_read(&b);
    }
    ingot_rng rng = {7};
    for (int i = 0; i < 3000; i++) {
        test_case("round %d", i);
        b = good;
        for (uint64_t k = ingot_rng_next(&rng) % 4 + 1; k; k--) {
            const uint64_t r = ingot_rng_next(&rng);
            b.p[8 + r % (b.n - 8)] = r >> 32 & 1 ? (uint8_t)(r >> 40) : (uint8_t)(r >> 33 & 1 ? 0xff : 0);
        }
        opened += open_and_read(&b);
    }
    test_case("all");
    CHECK(opened > 100); /* some damage is harmless: the test reads such files too */
}

TEST("gguf/no memory at any allocation") {
    gguf_build b;
    const size_t before = ingot_mem_bytes(INGOT_MEM_OTHER);
    build_small(&b);
    bool opened = false;
    for (long n = 1; !opened && CHECK(n < 100); n++) {
        ingot_gguf *g;
        void *image;
        test_case("allocation %ld", n);
        ingot_mem_fail_at(n);
        const ingot_status s = build_open(&g, &b, &image);
        ingot_mem_fail_at(0);
        opened = s == INGOT_OK;
        if (opened) CHECK(n > 5);
        else CHECK_STATUS(s, INGOT_E_NOMEM);
        ingot_gguf_close(g);
        free(image);
        CHECK_INT(ingot_mem_bytes(INGOT_MEM_OTHER), before);
    }
}
