/* The contexts of the recall tasks: exact length, answers where they are said to be, the same for the same seed. */
#include "eval/recall_tasks.h"
#include "test.h"
#include "tokenizer_vocab.h"
#include <stdlib.h>
#include <unistd.h>

static const int depths[5] = {0, 25, 50, 75, 100};

/* Byte tokens only: a SentencePiece vocabulary that puts a space in front and BOS first, and a byte-level one without either. */
static const vocab_spec vocabularies[] = {
    {.model = "llama", .byte_tokens = true, .add_bos = 1, .add_space = 1, .bos = 1, .eos = VOCAB_UNSET, .unk = 0, .n_tokens = 3,
     .tokens = (const vocab_token[]){{"<unk>", VOCAB_UNKNOWN, 0}, {"<s>", VOCAB_CONTROL, 0}, {"\xe2\x96\x81", VOCAB_NORMAL, -1}}},
    {VOCAB_SPEC, .model = "gpt2", .pre = "gpt-2", .byte_tokens = true, .merges = (const char *const[]){"1 2", NULL}, .n_tokens = 1,
     .tokens = (const vocab_token[]){{"12", VOCAB_NORMAL, 0}}},
};
enum { N_VOCABULARIES = 2, N_MODELS = 4 };

static ingot_model *open_vocabulary(const vocab_spec *spec) {
    static vocab_image image;
    char path[] = "/tmp/ingot-recall-XXXXXX";
    vocab_build(&image, spec);
    vocab_key_str(&image, "general.architecture", "none");
    memcpy(image.p + 16, &(uint64_t){image.n_keys}, 8);
    const int fd = mkstemp(path);
    ingot_model *m = NULL;
    const ingot_model_options options = {.vocab_only = true};
    if (CHECK(fd >= 0) && CHECK(write(fd, image.p, image.n) == (ssize_t)image.n)) CHECK_OK(ingot_model_open(&m, path, &options));
    close(fd);
    unlink(path);
    return m;
}

/* Two made vocabularies, then those of the test models that are there (else NULL). */
static ingot_model *open_tokens(int i) {
    static const char *const real[] = {"smollm2", "gemma3-270m"};
    test_case("vocabulary %d", i);
    if (i < N_VOCABULARIES) return open_vocabulary(&vocabularies[i]);
    const char *path = test_model(real[i - N_VOCABULARIES]);
    ingot_model *m = NULL;
    const ingot_model_options options = {.vocab_only = true};
    if (path) CHECK_OK(ingot_model_open(&m, path, &options));
    return m;
}

/* The bytes of tokens [from, to); freed with free(). */
static char *text_of(const ingot_model *m, const int32_t *tokens, int from, int to) {
    size_t cap = 1, n = 0, len;
    for (int i = from; i < to; i++) ingot_model_token_bytes(m, tokens[i], false, &len), cap += len;
    char *text = malloc(cap);
    for (int i = from; i < to; i++) {
        const char *p = ingot_model_token_bytes(m, tokens[i], false, &len);
        memcpy(text + n, p, len);
        n += len;
    }
    text[n] = 0;
    return text;
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) n++;
    return n;
}

static ingot_recall_config config_of(int n_ctx) {
    return (ingot_recall_config){.n_ctx = n_ctx, .depths = depths, .n_depths = 5, .n_samples = 1, .hops = 3, .seed = 7};
}

/* The answer stands, letter for letter, within the sentence that its source points to, and nowhere else between source and question. */
static void check_answer(const ingot_model *m, const recall_sample *s, const recall_answer *a, int n_ctx, int sentence_bytes) {
    char *answer = text_of(m, s->tokens, a->first, a->first + a->n), *rest = text_of(m, s->tokens, a->source, n_ctx);
    const char *word = answer + strspn(answer, " "), *found = strstr(rest, word);
    CHECK(strlen(word) >= 5);
    CHECK(found && found - rest < sentence_bytes);
    CHECK(a->first > a->source && a->first + a->n <= n_ctx);
    free(answer);
    free(rest);
}

static void check_depth(const recall_sample *s, const recall_answer *a, int n_ctx, int percent, int slack) {
    const double wanted = percent / 100.0 * n_ctx;
    test_case("depth %d %%: token %d of %d", percent, a->source, n_ctx);
    CHECK(fabs(a->source - wanted) <= slack);
    CHECK(s->n_answers > 0);
}

/* `slack`: tokens of intro, question and the way to the end of a sentence. */
static void check_task(const ingot_model *m, int task, int n_ctx, recall_text text, int slack) {
    ingot_recall_config c = config_of(n_ctx);
    for (int d = 0; d < (ingot_recall_one_depth(task) ? 5 : 1); d++) {
        recall_sample s;
        const recall_spec spec = {.config = &c, .task = task, .depth = d, .text = text};
        test_case("%s, depth %d %%, %d tokens", ingot_recall_task_name(task), depths[d], n_ctx);
        if (!CHECK_OK(ingot_recall_sample_make(&s, m, &spec))) continue;
        CHECK_INT(s.n_answers, task == INGOT_RECALL_PASSKEY ? 1 : task == INGOT_RECALL_NEEDLES ? 5 : 4);
        for (int i = 0; i < s.n_answers; i++) {
            check_answer(m, &s, &s.answers[i], n_ctx, 64);
            if (i) CHECK(s.answers[i].first >= s.answers[i - 1].first + s.answers[i - 1].n);
        }
        const recall_answer *last = &s.answers[s.n_answers - 1];
        if (task == INGOT_RECALL_NEEDLES) CHECK(last->first + last->n == n_ctx - 1); /* a full stop */
        else CHECK_INT(last->first + last->n, n_ctx);
        if (task != INGOT_RECALL_VARIABLES)
            for (int i = 0; i < s.n_answers; i++) check_depth(&s, &s.answers[i], n_ctx, depths[s.answers[i].depth], slack);
        ingot_recall_sample_free(&s);
    }
}

TEST("eval/recall: contexts are of exact length and hold the answers at their depths") {
    for (int v = 0; v < N_MODELS; v++) {
        ingot_model *m = open_tokens(v);
        if (!m) continue;
        int32_t *text = NULL;
        size_t n = 0, n_bytes = 0;
        FILE *f = fopen(test_path("data/war_and_peace.txt"), "rb");
        char *book = malloc(20000);
        if (CHECK(f != NULL)) n_bytes = fread(book, 1, 20000, f);
        while (n_bytes && (book[n_bytes - 1] & 0x80)) n_bytes--;
        if (CHECK_OK(ingot_model_tokenize(m, book, n_bytes, 0, &text, &n)))
            for (int task = INGOT_RECALL_PASSKEY; task < INGOT_N_RECALL_TASKS; task++) {
                check_task(m, task, 4000, (recall_text){0}, v < N_VOCABULARIES ? 400 : 200);
                check_task(m, task, 3001, (recall_text){text, n}, v < N_VOCABULARIES ? 400 : 200);
            }
        ingot_free_memory(text);
        free(book);
        if (f) fclose(f);
        ingot_model_close(m);
    }
}

TEST("eval/recall: a pass key is said twice in its sentence and once as the answer") {
    ingot_model *m = open_tokens(0);
    if (!m) return;
    const ingot_recall_config c = config_of(1500);
    for (int sample = 0; sample < 20; sample++) {
        recall_sample s;
        const recall_spec spec = {.config = &c, .task = INGOT_RECALL_PASSKEY, .depth = 2, .sample = sample};
        if (!CHECK_OK(ingot_recall_sample_make(&s, m, &spec))) break;
        char *all = text_of(m, s.tokens, 0, 1500), *key = text_of(m, s.tokens, s.answers[0].first, 1500);
        CHECK_INT(strlen(key), 5);
        CHECK_INT(count(all, key), 3);
        CHECK_INT(count(all, "The pass key is"), 2);
        free(all);
        free(key);
        ingot_recall_sample_free(&s);
    }
    ingot_model_close(m);
}

TEST("eval/recall: variables hand one value on, and all that have it are asked for in order") {
    ingot_model *m = open_tokens(0);
    if (!m) return;
    const ingot_recall_config c = config_of(2000);
    recall_sample s;
    const recall_spec spec = {.config = &c, .task = INGOT_RECALL_VARIABLES, .depth = 4};
    if (CHECK_OK(ingot_recall_sample_make(&s, m, &spec))) {
        char *all = text_of(m, s.tokens, 0, 2000);
        for (int i = 1; i < s.n_answers; i++) {
            char want[64], *before = text_of(m, s.tokens, s.answers[i - 1].first, s.answers[i - 1].first + s.answers[i - 1].n);
            char *name = text_of(m, s.tokens, s.answers[i].first, s.answers[i].first + s.answers[i].n);
            snprintf(want, sizeof want, "VAR %s = VAR %s.", name, before);
            CHECK_HAS(all, want);
            CHECK(s.answers[i].source > s.answers[i - 1].source);
            free(before);
            free(name);
        }
        free(all);
        ingot_recall_sample_free(&s);
    }
    ingot_model_close(m);
}

TEST("eval/recall: a copy is a copy") {
    for (int v = 0; v < N_VOCABULARIES; v++) {
        ingot_model *m = open_tokens(v);
        if (!m) return;
        for (int n_ctx = 300; n_ctx < 302; n_ctx++) {
            const ingot_recall_config c = config_of(n_ctx);
            recall_sample s;
            const recall_spec spec = {.config = &c, .task = INGOT_RECALL_COPY};
            if (!CHECK_OK(ingot_recall_sample_make(&s, m, &spec))) continue;
            int seen = 0;
            for (int i = 0; i < s.n_answers; i++) {
                const recall_answer *a = &s.answers[i];
                CHECK(a->n == 1 && s.tokens[a->first] == s.tokens[a->source] && a->first - a->source == s.answers[0].first - s.answers[0].source);
                seen |= 1 << a->depth;
            }
            CHECK_INT(s.answers[s.n_answers - 1].first, n_ctx - 1);
            CHECK_INT(s.n_answers, s.answers[0].first - s.answers[0].source - (v ? 2 : 3) - 16); /* passage less 16; the gap is two line ends (and a space) */
            CHECK_INT(seen, 31);
            ingot_recall_sample_free(&s);
        }
        ingot_model_close(m);
    }
}

TEST("eval/recall: seeds, samples and depths make different contexts, the same seed the same") {
    ingot_model *m = open_tokens(1);
    if (!m) return;
    ingot_recall_config c = config_of(1200), other = c;
    other.seed = 8;
    const recall_spec specs[] = {{.config = &c, .task = INGOT_RECALL_PASSKEY}, {.config = &c, .task = INGOT_RECALL_PASSKEY},
                                 {.config = &other, .task = INGOT_RECALL_PASSKEY}, {.config = &c, .task = INGOT_RECALL_PASSKEY, .sample = 1},
                                 {.config = &c, .task = INGOT_RECALL_PASSKEY, .depth = 1}};
    recall_sample s[5];
    for (int i = 0; i < 5; i++) CHECK_OK(ingot_recall_sample_make(&s[i], m, &specs[i]));
    for (int i = 1; i < 5; i++) CHECK((memcmp(s[0].tokens, s[i].tokens, 1200 * sizeof(int32_t)) == 0) == (i == 1));
    for (int i = 0; i < 5; i++) ingot_recall_sample_free(&s[i]);
    ingot_model_close(m);
}

TEST("eval/recall: boundaries of sentences") {
    ingot_model *m = open_tokens(1);
    if (!m) return;
    const char text[] = "One. Two, three! Four";
    int32_t *ids;
    size_t n;
    if (CHECK_OK(ingot_model_tokenize(m, text, strlen(text), 0, &ids, &n)) && CHECK_INT(n, strlen(text))) {
        CHECK_INT(ingot_recall_snap(m, ids, (int)n, 5), 4);
        CHECK_INT(ingot_recall_snap(m, ids, (int)n, 1), 0);
        CHECK_INT(ingot_recall_snap(m, ids, (int)n, 14), 16);
        CHECK_INT(ingot_recall_snap(m, ids, (int)n, 20), (int)n);
        ingot_free_memory(ids);
    }
    ingot_model_close(m);
}

TEST("eval/recall: contexts and texts that are too short are refused with both counts") {
    ingot_model *m = open_tokens(1);
    if (!m) return;
    const int32_t few[3] = {40, 41, 42};
    for (int task = 0; task < INGOT_N_RECALL_TASKS; task++) {
        ingot_recall_config c = config_of(30);
        recall_sample s;
        recall_spec spec = {.config = &c, .task = task};
        CHECK_STATUS(ingot_recall_sample_make(&s, m, &spec), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), "30 tokens");
        CHECK(!s.tokens && !s.answers);
        c.n_ctx = 2000;
        spec.text = (recall_text){few, 3};
        CHECK_STATUS(ingot_recall_sample_make(&s, m, &spec), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), "has 3 tokens");
    }
    ingot_model_close(m);
}
