#include "tokenizer_fixture.h"
#include "base/alloc.h"
#include "test.h"
#include <stdlib.h>

ingot_status tiny_open(tiny *y, const vocab_spec *spec) {
    y->g = NULL;
    y->t = NULL;
    vocab_build(&y->image, spec);
    const ingot_status s = ingot_gguf_open_memory(&y->g, y->image.p, y->image.n);
    if (s != INGOT_OK) return s;
    return ingot_tokenizer_open(&y->t, y->g);
}

void tiny_close(tiny *y) {
    ingot_tokenizer_close(y->t);
    ingot_gguf_close(y->g);
}

bool check_same_ids(const int32_t *got, size_t n_got, const int32_t *want, size_t n_want) {
    size_t i = 0;
    while (i < n_got && i < n_want && got[i] == want[i]) i++;
    if (i == n_got && i == n_want) return CHECK(true);
    test_case("ids differ at %zu of %zu (wanted %zu): %d, wanted %d", i, n_got, n_want, i < n_got ? (int)got[i] : -1,
              i < n_want ? (int)want[i] : -1);
    return CHECK(false);
}

bool check_ids(const ingot_tokenizer *t, const char *text, int flags, const char *want) {
    int32_t *ids;
    size_t n, n_want;
    test_case("'%.60s' flags %d", text, flags);
    if (!CHECK_OK(ingot_tokenizer_encode(t, text, strlen(text), flags, &ids, &n))) return false;
    int32_t *w = parse_numbers(*want ? want : "-", &n_want);
    const bool ok = check_same_ids(ids, n, w, n_want);
    free(w);
    ingot_dealloc(ids);
    return ok;
}

bool check_pieces(const ingot_tokenizer *t, const char *text, int flags, const char *want) {
    int32_t *ids;
    size_t n, at = 0;
    char got[4096] = "";
    test_case("'%.60s' flags %d", text, flags);
    if (!CHECK_OK(ingot_tokenizer_encode(t, text, strlen(text), flags, &ids, &n))) return false;
    for (size_t i = 0; i < n && at < sizeof got - 64; i++) {
        size_t k;
        const char *p = ingot_tokenizer_bytes(t, ids[i], true, &k);
        at += (size_t)snprintf(got + at, sizeof got - at, "‹%.*s›", (int)k, p);
    }
    ingot_dealloc(ids);
    return CHECK_STR(got, want);
}

bool check_round_trip(const ingot_tokenizer *t, const char *text, size_t n) {
    int32_t *ids;
    size_t n_ids, n_back;
    char *back;
    if (!CHECK_OK(ingot_tokenizer_encode(t, text, n, 0, &ids, &n_ids))) return false;
    bool ok = CHECK_OK(ingot_tokenizer_decode(t, ids, n_ids, false, &back, &n_back));
    ok = ok && CHECK_INT(n_back, n) && CHECK(memcmp(back, text, n) == 0);
    ingot_dealloc(back);
    ingot_dealloc(ids);
    return ok;
}

char *read_file(const char *rel, size_t *n) {
    FILE *f = fopen(test_path(rel), "rb");
    *n = 0;
    if (!CHECK(f != NULL)) return NULL;
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    char *p = malloc((size_t)size + 1);
    if (CHECK(p && fread(p, 1, (size_t)size, f) == (size_t)size)) {
        p[size] = 0;
        *n = (size_t)size;
    } else {
        free(p);
        p = NULL;
    }
    fclose(f);
    return p;
}

char *next_line(char **cursor) {
    char *line = *cursor;
    if (!*line) return NULL;
    char *end = strchr(line, '\n');
    if (end) *end = 0;
    *cursor = end ? end + 1 : line + strlen(line);
    return line;
}

int split_fields(char *line, char **fields, int max) {
    int n = 0;
    while (n < max) {
        fields[n++] = line;
        line = strchr(line, '\t');
        if (!line) break;
        *line++ = 0;
    }
    return n;
}

size_t unhex(char *s) {
    size_t n = 0;
    if (strcmp(s, "-") == 0) *s = 0;
    for (char *p = s; p[0] && p[1]; p += 2) s[n++] = (char)strtol((char[3]){p[0], p[1], 0}, NULL, 16);
    s[n] = 0;
    return n;
}

int32_t *parse_numbers(const char *s, size_t *n) {
    int32_t *v = malloc((strlen(s) + 1) * sizeof *v);
    *n = 0;
    for (char *end; v && *s; s = *end ? end + 1 : end) {
        const long x = strtol(s, &end, 10);
        if (end == s || strcmp(s, "-") == 0) break;
        v[(*n)++] = (int32_t)x;
    }
    return v;
}

uint64_t fnv1a_ids(const int32_t *ids, size_t n) {
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < 32; b += 8) h = (h ^ ((uint32_t)ids[i] >> b & 0xFF)) * 0x100000001B3u;
    return h;
}

bool model_tokenizer_open(model_tokenizer *m, const char *name) {
    *m = (model_tokenizer){0};
    const char *path = test_model(name);
    if (!path) {
        test_skip("model %s is not there: scripts/get-model.sh %s", name, name);
        return false;
    }
    return CHECK_OK(ingot_gguf_open(&m->g, path)) && CHECK_OK(ingot_tokenizer_open(&m->t, m->g));
}

void model_tokenizer_close(model_tokenizer *m) {
    ingot_tokenizer_close(m->t);
    ingot_gguf_close(m->g);
}
