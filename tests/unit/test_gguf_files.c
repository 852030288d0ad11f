/* GGUF files on disk: paths that are no model, split sets, and the real models. */
#include "gguf_build.h"
#include "test.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[200];

/* A fresh directory for a test; remove_dir takes it away with the files that put_file made. */
static bool make_dir(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/ingot-gguf-XXXXXX", tmp && strlen(tmp) < 150 ? tmp : P_tmpdir);
    return CHECK(mkdtemp(dir) != NULL);
}

static char made[32][300];
static int n_made;

static const char *put_file(const char *name, const void *p, size_t n) {
    char *path = made[n_made++ % 32];
    snprintf(path, sizeof *made, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (CHECK(f != NULL)) {
        CHECK(fwrite(p, 1, n, f) == n);
        fclose(f);
    }
    return path;
}

static void remove_dir(void) {
    while (n_made) unlink(made[--n_made]);
    CHECK(rmdir(dir) == 0);
}

static void check_path_refused(const char *path, ingot_status status, const char *part) {
    ingot_gguf *g;
    test_case("%s", part);
    CHECK_STATUS(ingot_gguf_open(&g, path), status);
    CHECK(g == NULL);
    CHECK_HAS(ingot_last_error(), path);
    CHECK_HAS(ingot_last_error(), part);
    ingot_gguf_close(g);
}

TEST("gguf/paths that are no model") {
    static const char html[] = "<!doctype html><title>404</title>";
    if (!make_dir()) return;
    check_path_refused(dir, INGOT_E_IO, "is a directory");
    check_path_refused(put_file("page.gguf", html, sizeof html - 1), INGOT_E_FORMAT, "HTML page");
    check_path_refused(put_file("empty.gguf", "", 0), INGOT_E_FORMAT, "empty file");
    check_path_refused(put_file("tiny.gguf", "GGU", 3), INGOT_E_FORMAT, "only a few bytes");
    char path[300];
    snprintf(path, sizeof path, "%s/absent.gguf", dir);
    check_path_refused(path, INGOT_E_IO, "No such file");
    check_path_refused("", INGOT_E_IO, "No such file");
    if (CHECK(mkfifo(path, 0600) == 0)) {
        check_path_refused(path, INGOT_E_IO, "not a regular file"); /* and does not wait for a writer */
        unlink(path);
    }
    remove_dir();
}

typedef struct part { int no, count, n_tensors; const char *tensor; } part;

static const char *put_part(const char *name, part p) {
    gguf_build b;
    build_header(&b, 3, 1, p.n_tensors < 0 ? 2 : 3);
    build_key_u16(&b, "split.no", (uint16_t)p.no);
    build_key_u16(&b, "split.count", (uint16_t)p.count);
    if (p.n_tensors >= 0) build_key_i32(&b, "split.tensors.count", p.n_tensors);
    build_tensor(&b, p.tensor, 8, 0, INGOT_W_F32, 0);
    build_data(&b, 32, 32);
    b.p[b.n - 1] = (uint8_t)p.tensor[0];
    return put_file(name, b.p, b.n);
}

TEST("gguf/a split set opens as one model") {
    static const char *const names[] = {"a", "b", "c"};
    ingot_gguf *g;
    if (!make_dir()) return;
    const char *first = put_part("m-00001-of-00003.gguf", (part){0, 3, 3, "a"});
    put_part("m-00002-of-00003.gguf", (part){1, 3, 3, "b"});
    put_part("m-00003-of-00003.gguf", (part){2, 3, 3, "c"});
    if (CHECK_OK(ingot_gguf_open(&g, first))) {
        struct stat st;
        CHECK_INT(ingot_gguf_tensor_count(g), 3);
        for (int i = 0; i < 3; i++) {
            const ingot_gguf_tensor *t = ingot_gguf_tensor_find(g, names[i]);
            if (CHECK(t != NULL)) CHECK(((const uint8_t *)t->data)[31] == (uint8_t)names[i][0]);
        }
        CHECK(stat(first, &st) == 0 && ingot_gguf_file_bytes(g) == 3 * (size_t)st.st_size);
    }
    ingot_gguf_close(g);
    remove_dir();
}

/* A set of two of which the second is `second`; refused with `bad` (a file's name) and `why` in the message. */
static void check_set_refused(const char *second_name, part second, ingot_status status, const char *bad, const char *why) {
    ingot_gguf *g;
    test_case("%s", why);
    if (!make_dir()) return;
    const char *first = put_part("m-00001-of-00002.gguf", (part){0, 2, 2, "a"});
    put_part(second_name, second);
    CHECK_STATUS(ingot_gguf_open(&g, first), status);
    CHECK_HAS(ingot_last_error(), bad);
    CHECK_HAS(ingot_last_error(), why);
    ingot_gguf_close(g);
    remove_dir();
}

TEST("gguf/a split set that is not whole is refused, naming the file") {
    static const char name[] = "m-00002-of-00002.gguf";
    check_set_refused("other.gguf", (part){1, 2, 2, "b"}, INGOT_E_IO, name, "No such file");
    check_set_refused(name, (part){0, 2, 2, "b"}, INGOT_E_FORMAT, name, "says it is file 1 of 2 of a split model, but file 2 of 2 is wanted");
    check_set_refused(name, (part){1, 3, 2, "b"}, INGOT_E_FORMAT, name, "says it is file 2 of 3");
    check_set_refused(name, (part){1, 2, -1, "b"}, INGOT_E_FORMAT, name, "\"split.tensors.count\" is missing");
    check_set_refused(name, (part){1, 2, 2, "a"}, INGOT_E_FORMAT, name, "the tensor \"a\" is there twice");
}

TEST("gguf/the wrong file of a split set is refused") {
    ingot_gguf *g;
    if (!make_dir()) return;
    check_path_refused(put_part("m-00002-of-00003.gguf", (part){1, 3, 3, "b"}), INGOT_E_INVALID, "file 2 of the 3");
    CHECK_HAS(ingot_last_error(), "-00001-of-00003.gguf");
    check_path_refused(put_part("renamed.gguf", (part){0, 3, 3, "a"}), INGOT_E_INVALID, "must end in -00001-of-00003.gguf");
    check_path_refused(put_part("x-00001-of-00002.gguf", (part){0, 2, -1, "a"}), INGOT_E_FORMAT, "\"split.tensors.count\" is missing");
    put_part("y-00002-of-00002.gguf", (part){1, 2, 9, "b"});
    check_path_refused(put_part("y-00001-of-00002.gguf", (part){0, 2, 9, "a"}), INGOT_E_FORMAT,
                       "the 2 files have 2 tensors, but its key \"split.tensors.count\" is 9");
    test_case("one of one");
    CHECK_OK(ingot_gguf_open(&g, put_part("single.gguf", (part){0, 1, 1, "a"}))); /* no set: any name will do */
    ingot_gguf_close(g);
    test_case("merged again");
    CHECK_OK(ingot_gguf_open(&g, put_part("merged.gguf", (part){0, 0, 1, "a"})));
    ingot_gguf_close(g);
    remove_dir();
}

TEST("gguf/a part of a split set in memory is refused") {
    gguf_build b;
    build_header(&b, 3, 0, 1);
    build_key_u16(&b, "split.count", 4);
    build_check_refused(&b, INGOT_E_UNSUPPORTED, "one of 4 files of a split model");
}

static void check_model_int(const ingot_gguf *g, const char *key, uint32_t want) {
    uint32_t v = 0;
    bool found = false;
    test_case("%s", key);
    CHECK_OK(ingot_gguf_get_u32(g, key, &v, &found));
    CHECK(found);
    CHECK_INT(v, want);
}

static void check_model_tokens(const ingot_gguf *g, uint64_t want) {
    ingot_gguf_type type;
    uint64_t count = 0;
    bool found = false;
    CHECK_OK(ingot_gguf_get_array(g, "tokenizer.ggml.tokens", &type, &count, &found));
    CHECK(found && type == INGOT_GGUF_STRING);
    CHECK_INT(count, want);
}

static void check_model_tensor(const ingot_gguf *g, const char *name, uint32_t type, uint64_t d0, uint64_t d1) {
    const ingot_gguf_tensor *t = ingot_gguf_tensor_find(g, name);
    test_case("%s", name);
    if (!CHECK(t != NULL)) return;
    CHECK_STR(ingot_wtype_any_name(t->type), ingot_wtype_any_name(type));
    CHECK(t->dims[0] == d0 && t->dims[1] == d1 && t->n_dims == (d1 > 1 ? 2 : 1));
    CHECK((uintptr_t)t->data % 32 == 0);
}

TEST("gguf/SmolLM2 opens with its geometry") {
    const char *path = test_model("smollm2");
    ingot_gguf *g;
    if (!path) { test_skip("the model smollm2 was not fetched"); return; }
    if (!CHECK_OK(ingot_gguf_open(&g, path))) return;
    CHECK_INT(ingot_gguf_file_bytes(g), 98362432);
    CHECK_INT(ingot_gguf_tensor_count(g), 272);
    check_model_int(g, "llama.block_count", 30);
    check_model_int(g, "llama.embedding_length", 576);
    check_model_int(g, "llama.attention.head_count_kv", 3);
    check_model_tokens(g, 49152);
    check_model_tensor(g, "token_embd.weight", INGOT_W_Q8_0, 576, 49152);
    check_model_tensor(g, "blk.29.ffn_down.weight", INGOT_W_Q4_1, 1536, 576);
    check_model_tensor(g, "output_norm.weight", INGOT_W_F32, 576, 1);
    ingot_gguf_close(g);
}

TEST("gguf/Gemma 3 opens with its geometry") {
    const char *path = test_model("gemma3-270m");
    ingot_gguf *g;
    if (!path) { test_skip("the model gemma3-270m was not fetched"); return; }
    if (!CHECK_OK(ingot_gguf_open(&g, path))) return;
    CHECK_INT(ingot_gguf_file_bytes(g), 253113024);
    CHECK_INT(ingot_gguf_tensor_count(g), 236);
    check_model_int(g, "gemma3.block_count", 18);
    check_model_int(g, "gemma3.attention.sliding_window", 512);
    check_model_tokens(g, 262144);
    check_model_tensor(g, "token_embd.weight", INGOT_W_Q8_0, 640, 262144);
    check_model_tensor(g, "blk.0.attn_k.weight", INGOT_W_Q5_0, 640, 256);
    check_model_tensor(g, "blk.17.attn_output.weight", INGOT_W_Q4_K, 1024, 640);
    ingot_gguf_close(g);
}
