/* Splitting into words against the published patterns run by another engine; see golden/make_tokenizer.py. */
#include "base/alloc.h"
#include "test.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer_fixture.h"
#include <stdlib.h>
#include <time.h>

static ingot_status open_rule(ingot_pretokenizer **p, const char *name) { return ingot_pretokenizer_open(p, (ingot_str){name, strlen(name)}); }

static void check_words(const char *rule, const char *text, size_t n, const char *lengths) {
    ingot_pretokenizer *p;
    ingot_splitter *s;
    size_t n_want, at = 0;
    int32_t *want = parse_numbers(lengths, &n_want);
    if (!CHECK_OK(open_rule(&p, rule)) || !CHECK_OK(ingot_splitter_open(&s, p))) return;
    for (size_t i = 0, end; i < n_want; i++, at = end)
        if (!CHECK_OK(ingot_splitter_next(s, text, n, at, &end)) || !CHECK_INT(end - at, want[i])) break;
    CHECK_INT(at, n);
    ingot_splitter_close(s);
    ingot_pretokenizer_close(p);
    free(want);
}

TEST("tokenizer/split/words as the published patterns make them") {
    size_t n;
    int cases = 0;
    char *file = read_file("golden/tokenizer_split.txt", &n), *cursor = file, *fields[3];
    for (char *line; file && (line = next_line(&cursor)); cases++) {
        if (!CHECK_INT(split_fields(line, fields, 3), 3)) break;
        test_case("line %d %s", cases + 1, fields[0]);
        const size_t length = unhex(fields[1]);
        check_words(fields[0], fields[1], length, fields[2]);
    }
    CHECK(cases > 400);
    free(file);
}

TEST("tokenizer/split/an unknown pre-tokenizer is named") {
    ingot_pretokenizer *p;
    CHECK_STATUS(open_rule(&p, "tekken"), INGOT_E_UNSUPPORTED);
    CHECK(!p);
    CHECK_HAS(ingot_last_error(), "'tekken'");
    CHECK_HAS(ingot_last_error(), "llama-bpe");
    CHECK_STATUS(open_rule(&p, ""), INGOT_E_UNSUPPORTED);
}

/* One megabyte that is one character over and over, or two in turn: no pattern may go over a run more than a few times. */
TEST("tokenizer/split/long runs take linear time") {
    static const char *const rules[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"}, *const units[] = {"a", " ", "\n", "1", ".", "'", " a", " \n", "\t ", ".\n"};
    const size_t n = 1 << 20;
    char *text = malloc(n + 1);
    if (!CHECK(text != NULL)) return;
    for (int r = 0; r < 4; r++)
        for (int u = 0; u < 10; u++) {
            ingot_pretokenizer *p;
            ingot_splitter *s;
            size_t at = 0, end;
            for (size_t i = 0; i < n; i++) text[i] = units[u][i % strlen(units[u])];
            text[n - 1] = 'x'; /* makes the white space give back its last character */
            test_case("%s, unit %d", rules[r], u);
            if (!CHECK_OK(open_rule(&p, rules[r])) || !CHECK_OK(ingot_splitter_open(&s, p))) break;
            const clock_t start = clock();
            while (at < n && CHECK_OK(ingot_splitter_next(s, text, n, at, &end))) at = end;
            CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 5); /* a quadratic one would take minutes */
            ingot_splitter_close(s);
            ingot_pretokenizer_close(p);
        }
    free(text);
}
