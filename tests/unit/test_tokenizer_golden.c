/* Token ids of the test models against those of other implementations; see golden/make_tokenizer.py. */
#include "base/alloc.h"
#include "test.h"
#include "tokenizer_fixture.h"
#include <ingot/model.h>
#include <stdlib.h>

static const char *const names[] = {"smollm2", "gemma3-270m"};

static void check_case(const ingot_tokenizer *t, const char *text, size_t n, int flags, const char *want) {
    int32_t *ids;
    size_t n_ids, n_want;
    if (!CHECK_OK(ingot_tokenizer_encode(t, text, n, flags, &ids, &n_ids))) return;
    int32_t *w = parse_numbers(want, &n_want);
    check_same_ids(ids, n_ids, w, n_want);
    free(w);
    ingot_dealloc(ids);
}

/* SmolLM2's vocabulary has no token for these bytes, and no implementation can encode a text with them. */
static bool has_bytes_without_token(const char *name, const char *text, size_t n) {
    if (strcmp(name, "smollm2") != 0) return false;
    for (size_t i = 0; i < n; i++)
        if (strchr("\x04\x06\x13\x14\x16\x1d\xf1\xf2", text[i]) && text[i]) return true;
    return false;
}

static void check_strings(const char *name) {
    model_tokenizer m;
    char path[64], *fields[3];
    size_t n;
    if (!model_tokenizer_open(&m, name)) return;
    snprintf(path, sizeof path, "golden/tokenizer_%s.txt", name);
    char *file = read_file(path, &n), *cursor = file;
    int cases = 0, lossy = 0;
    for (char *line; file && (line = next_line(&cursor)); cases++) {
        if (!CHECK_INT(split_fields(line, fields, 3), 3)) break;
        const size_t length = unhex(fields[0]);
        test_case("%s line %d plain", path, cases + 1);
        check_case(m.t, fields[0], length, 0, fields[1]);
        test_case("%s line %d special", path, cases + 1);
        check_case(m.t, fields[0], length, INGOT_TOKENIZE_SPECIAL, fields[2][0] == '=' ? fields[1] : fields[2]);
        test_case("%s line %d round trip", path, cases + 1);
        if (has_bytes_without_token(name, fields[0], length)) lossy++;
        else check_round_trip(m.t, fields[0], length);
    }
    CHECK(cases > 300 && lossy < cases / 4);
    free(file);
    model_tokenizer_close(&m);
}

TEST("tokenizer/golden/smollm2 strings") { check_strings("smollm2"); }
TEST("tokenizer/golden/gemma3 strings") { check_strings("gemma3-270m"); }

/* Fields: model, file, count, FNV-1a 64, SHA-256 (for the eye), first 16, last 16. */
static void check_file(const model_tokenizer *m, char **fields) {
    char path[64];
    size_t n, n_ids, n_back, k;
    int32_t *ids;
    snprintf(path, sizeof path, "data/%s", fields[1]);
    test_case("%s %s", fields[0], fields[1]);
    char *text = read_file(path, &n);
    if (!text || !CHECK_OK(ingot_tokenizer_encode(m->t, text, n, 0, &ids, &n_ids))) {
        free(text);
        return;
    }
    CHECK_INT(n_ids, strtol(fields[2], NULL, 10));
    CHECK(fnv1a_ids(ids, n_ids) == strtoull(fields[3], NULL, 16));
    if (CHECK(n_ids >= 16)) {
        int32_t *first = parse_numbers(fields[5], &k), *last = parse_numbers(fields[6], &k);
        check_same_ids(ids, 16, first, k);
        check_same_ids(ids + n_ids - 16, 16, last, k);
        free(first);
        free(last);
    }
    char *back;
    if (CHECK_OK(ingot_tokenizer_decode(m->t, ids, n_ids, false, &back, &n_back)))
        CHECK(n_back == n && memcmp(back, text, n) == 0);
    ingot_dealloc(back);
    ingot_dealloc(ids);
    free(text);
}

static void check_files(const char *name) {
    model_tokenizer m;
    size_t n;
    int files = 0;
    if (!model_tokenizer_open(&m, name)) return;
    char *golden = read_file("golden/tokenizer_texts.txt", &n), *cursor = golden, *fields[7];
    for (char *line; golden && (line = next_line(&cursor));) {
        if (!CHECK_INT(split_fields(line, fields, 7), 7)) break;
        if (strcmp(fields[0], name) != 0) continue;
        check_file(&m, fields);
        files++;
    }
    CHECK_INT(files, 2);
    free(golden);
    model_tokenizer_close(&m);
}

TEST("tokenizer/golden/smollm2 whole texts") { check_files("smollm2"); }
TEST("tokenizer/golden/gemma3 whole texts") { check_files("gemma3-270m"); }

TEST("tokenizer/golden/BOS and end tokens of the test models") {
    for (int i = 0; i < 2; i++) {
        model_tokenizer m;
        if (!model_tokenizer_open(&m, names[i])) return;
        test_case("%s", names[i]);
        if (i == 0) {
            CHECK_INT(ingot_tokenizer_size(m.t), 49152);
            CHECK_INT(ingot_tokenizer_bos(m.t), 1);
            CHECK(!ingot_tokenizer_adds_bos(m.t));
            CHECK(ingot_tokenizer_is_end(m.t, 0) && !ingot_tokenizer_is_end(m.t, 1) && ingot_tokenizer_is_end(m.t, 2));
            check_ids(m.t, "Hello", INGOT_TOKENIZE_BOS, "19556");
        } else {
            CHECK_INT(ingot_tokenizer_size(m.t), 262144);
            CHECK_INT(ingot_tokenizer_bos(m.t), 2);
            CHECK(ingot_tokenizer_adds_bos(m.t));
            CHECK(ingot_tokenizer_is_end(m.t, 1) && ingot_tokenizer_is_end(m.t, 106) && !ingot_tokenizer_is_end(m.t, 105));
            CHECK(!ingot_tokenizer_is_end(m.t, 212)); /* "</s>" is an HTML tag to Gemma */
            check_ids(m.t, "Hello", INGOT_TOKENIZE_BOS, "2 9259");
            check_ids(m.t, "<bos>Hello", INGOT_TOKENIZE_BOS | INGOT_TOKENIZE_SPECIAL, "2 9259");
            check_ids(m.t, "", INGOT_TOKENIZE_BOS, "2");
        }
        model_tokenizer_close(&m);
    }
}
