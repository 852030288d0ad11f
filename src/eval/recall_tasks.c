#include "recall_tasks.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HIDDEN = INGOT_RECALL_MAX_DEPTHS, TEXT_BYTES = 160, TAIL_BYTES = 2048, N_NAMES = 24, NOT_SCORED = 16 };
_Static_assert(N_NAMES >= MAX_HIDDEN, "a name for each");

static const char *const names[N_NAMES] = {"Amber", "Birch", "Cedar", "Dover", "Eagle", "Falcon", "Granite", "Harbor", "Ivory", "Jasper", "Kestrel", "Laurel",
                                           "Maple", "Nickel", "Orchid", "Pepper", "Quartz", "Raven", "Saffron", "Timber", "Umber", "Violet", "Willow", "Zephyr"};

/* What is hidden where, and the end of the context, which asks for it and has the answers in it. */
typedef struct riddle {
    const char *intro;
    struct { char text[TEXT_BYTES]; double percent; } hidden[MAX_HIDDEN];
    struct { size_t from, to; int hidden, depth; } asked[MAX_HIDDEN]; /* bytes of the tail */
    int n_hidden, n_asked;
    char tail[TAIL_BYTES];
    size_t n_tail;
} riddle;

static void hide(riddle *r, double percent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void hide(riddle *r, double percent, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->hidden[r->n_hidden].text, TEXT_BYTES, fmt, args);
    va_end(args);
    r->hidden[r->n_hidden++].percent = percent;
}

static void say(riddle *r, const char *text) {
    r->n_tail += (size_t)snprintf(r->tail + r->n_tail, TAIL_BYTES - r->n_tail, "%s", text);
}

static void ask(riddle *r, const char *answer, int hidden, int depth) {
    r->asked[r->n_asked].from = r->n_tail;
    say(r, answer);
    r->asked[r->n_asked].to = r->n_tail;
    r->asked[r->n_asked].hidden = hidden;
    r->asked[r->n_asked++].depth = depth;
}

static void number(char buf[8], ingot_rng *rng) { snprintf(buf, 8, "%d", 10000 + ingot_recall_draw(rng, 90000)); }

/* out[n] = 0..n-1 in random order. */
static void shuffle(int *out, int n, ingot_rng *rng) {
    for (int i = 0; i < n; i++) {
        const int j = ingot_recall_draw(rng, i + 1);
        out[i] = out[j];
        out[j] = i;
    }
}

/* --- the riddles --- */
static void passkey(riddle *r, const recall_spec *spec, ingot_rng *rng) {
    char key[8];
    number(key, rng);
    r->intro = "A pass key is hidden in the text below. Remember it.\n\n";
    hide(r, spec->config->depths[spec->depth], " The pass key is %s. Remember it: %s is the pass key.", key, key);
    say(r, "\n\nWhat is the pass key? The pass key is ");
    ask(r, key, 0, spec->depth);
}

static void needles(riddle *r, const recall_spec *spec, ingot_rng *rng) {
    int name[N_NAMES], order[MAX_HIDDEN];
    char key[MAX_HIDDEN][8];
    const int n = spec->config->n_depths;
    shuffle(name, N_NAMES, rng);
    shuffle(order, n, rng);
    r->intro = "The keys of the gates are hidden in the text below. Remember them.\n\n";
    for (int i = 0; i < n; i++) {
        number(key[i], rng);
        hide(r, spec->config->depths[i], " The key of the %s gate is %s.", names[name[i]], key[i]);
    }
    say(r, "\n\nThe keys of the gates:");
    for (int i = 0; i < n; i++) {
        char text[TEXT_BYTES];
        snprintf(text, sizeof text, "\nThe key of the %s gate is ", names[name[order[i]]]);
        say(r, text);
        ask(r, key[order[i]], order[i], order[i]);
        say(r, ".");
    }
}

/* The chain takes a tenth of the text, so that depth 100 ends at its end. */
static void variables(riddle *r, const recall_spec *spec, ingot_rng *rng) {
    int name[N_NAMES];
    char value[8], text[TEXT_BYTES];
    const int hops = spec->config->hops;
    shuffle(name, N_NAMES, rng);
    number(value, rng);
    r->intro = "Variables get their values in the text below. Follow them.\n\n";
    for (int i = 0; i <= hops; i++) {
        const double percent = 0.9 * spec->config->depths[spec->depth] + 10.0 * i / hops;
        if (i) hide(r, percent, " VAR %s = VAR %s.", names[name[i]], names[name[i - 1]]);
        else hide(r, percent, " VAR %s = %s.", names[name[0]], value);
    }
    snprintf(text, sizeof text, "\n\nThe %d variables that have the value %s are these: VAR ", hops + 1, value);
    say(r, text);
    for (int i = 0; i <= hops; i++) {
        if (i) say(r, ", VAR ");
        ask(r, names[name[i]], i, spec->depth);
    }
}

/* --- assembling --- */
typedef struct piece { int32_t *ids; size_t n; } piece;

/* A riddle in tokens. */
typedef struct pieces { piece intro, hidden[MAX_HIDDEN], tail; int n_hidden; } pieces;

static ingot_status encode(piece *out, const ingot_model *model, const char *text, int flags) {
    return ingot_model_tokenize(model, text, strlen(text), flags, &out->ids, &out->n);
}

static ingot_status encode_all(pieces *p, const ingot_model *model, const riddle *r) {
    p->n_hidden = r->n_hidden;
    INGOT_TRY(encode(&p->intro, model, r->intro, INGOT_TOKENIZE_BOS));
    for (int i = 0; i < r->n_hidden; i++) INGOT_TRY(encode(&p->hidden[i], model, r->hidden[i].text, 0));
    return encode(&p->tail, model, r->tail, 0);
}

static void free_pieces(pieces *p) {
    ingot_free_memory(p->intro.ids);
    for (int i = 0; i < p->n_hidden; i++) ingot_free_memory(p->hidden[i].ids);
    ingot_free_memory(p->tail.ids);
}

static int put(int32_t *to, int at, const int32_t *ids, int n) {
    memcpy(to + at, ids, (size_t)n * sizeof *to);
    return at + n;
}

/* Tokens of the tail that hold bytes [from, to); tokens that begin with a space of their own count from `shift` bytes on. */
static void find_answers(recall_sample *out, const ingot_model *model, const riddle *r, const piece *tail, int tail_at, const int *sources) {
    size_t bytes = 0, n;
    for (size_t t = 0; t < tail->n; t++) ingot_model_token_bytes(model, tail->ids[t], false, &n), bytes += n;
    const size_t shift = bytes - r->n_tail; /* what the tokenizer put in front */
    size_t at = 0;
    out->n_answers = r->n_asked;
    for (size_t t = 0; t < tail->n; t++, at += n) {
        ingot_model_token_bytes(model, tail->ids[t], false, &n);
        for (int i = 0; i < r->n_asked; i++) {
            recall_answer *a = &out->answers[i];
            if (at + n <= r->asked[i].from + shift || at >= r->asked[i].to + shift) continue;
            if (!a->n) *a = (recall_answer){.first = tail_at + (int)t, .source = sources[r->asked[i].hidden], .depth = r->asked[i].depth};
            a->n++;
        }
    }
}

/* Intro, filling text with what is hidden in it, tail. */
static ingot_status lay_out(recall_sample *out, const ingot_model *model, const recall_spec *spec, const riddle *r, const pieces *p, ingot_rng *rng) {
    int sources[MAX_HIDDEN], fixed = (int)(p->intro.n + p->tail.n);
    for (int i = 0; i < p->n_hidden; i++) fixed += (int)p->hidden[i].n;
    const int n_ctx = spec->config->n_ctx, n_fill = n_ctx - fixed;
    if (n_fill < 1) return ingot_fail(INGOT_E_INVALID, "contexts of %d tokens are too short for the task %s, which takes %d without any text between", n_ctx, ingot_recall_task_name(spec->task), fixed);
    int32_t *fill = ingot_alloc_array((size_t)n_fill, sizeof *fill, INGOT_MEM_OTHER);
    if (!fill) return ingot_fail(INGOT_E_NOMEM, "out of memory for %d tokens", n_fill);
    ingot_status s = ingot_recall_fill(fill, n_fill, model, spec->text, rng);
    if (s == INGOT_OK) {
        int at = put(out->tokens, 0, p->intro.ids, (int)p->intro.n), done = 0;
        for (int i = 0; i < p->n_hidden; i++) {
            int until = ingot_recall_snap(model, fill, n_fill, (int)(r->hidden[i].percent / 100.0 * n_fill + 0.5));
            if (until < done) until = done;
            at = put(out->tokens, at, fill + done, until - done);
            sources[i] = at;
            at = put(out->tokens, at, p->hidden[i].ids, (int)p->hidden[i].n);
            done = until;
        }
        at = put(out->tokens, at, fill + done, n_fill - done);
        put(out->tokens, at, p->tail.ids, (int)p->tail.n);
        find_answers(out, model, r, &p->tail, at, sources);
    }
    ingot_dealloc(fill);
    return s;
}

static ingot_status solve(recall_sample *out, const ingot_model *model, const recall_spec *spec, ingot_rng *rng) {
    riddle r = {0};
    pieces p = {0};
    if (spec->task == INGOT_RECALL_PASSKEY) passkey(&r, spec, rng);
    else if (spec->task == INGOT_RECALL_NEEDLES) needles(&r, spec, rng);
    else variables(&r, spec, rng);
    ingot_status s = encode_all(&p, model, &r);
    if (s == INGOT_OK) s = lay_out(out, model, spec, &r, &p, rng);
    free_pieces(&p);
    return s;
}

/* The depth nearest to `percent`. */
static int nearest_depth(const ingot_recall_config *c, double percent) {
    int best = 0;
    for (int i = 1; i < c->n_depths; i++)
        if ((c->depths[i] + c->depths[i - 1]) / 2.0 < percent) best = i;
    return best;
}

/* BOS, [one token,] passage, line ends, passage. */
static ingot_status copy(recall_sample *out, const ingot_model *model, const recall_spec *spec, ingot_rng *rng) {
    const int n_ctx = spec->config->n_ctx;
    piece start = {0}, gap = {0};
    ingot_status s = encode(&start, model, "", INGOT_TOKENIZE_BOS);
    if (s == INGOT_OK) s = encode(&gap, model, "\n\n", 0);
    const int rest = n_ctx - (int)(start.n + gap.n), len = rest / 2, odd = rest % 2;
    if (s == INGOT_OK && len <= NOT_SCORED)
        s = ingot_fail(INGOT_E_INVALID, "contexts of %d tokens are too short for the task copy, which needs %d", n_ctx, (int)(start.n + gap.n) + 2 * NOT_SCORED + 2);
    if (s == INGOT_OK) {
        int at = put(out->tokens, 0, start.ids, (int)start.n);
        const int first = at + odd;
        s = ingot_recall_fill(out->tokens + at, odd + len, model, spec->text, rng);
        at = put(out->tokens, first + len, gap.ids, (int)gap.n);
        if (s == INGOT_OK) put(out->tokens, at, out->tokens + first, len);
        for (int i = NOT_SCORED; s == INGOT_OK && i < len; i++)
            out->answers[out->n_answers++] = (recall_answer){.first = at + i, .n = 1, .source = first + i, .depth = nearest_depth(spec->config, 100.0 * i / (len - 1))};
    }
    ingot_free_memory(start.ids);
    ingot_free_memory(gap.ids);
    return s;
}

bool ingot_recall_one_depth(int task) { return task == INGOT_RECALL_PASSKEY || task == INGOT_RECALL_VARIABLES; }

ingot_status ingot_recall_sample_make(recall_sample *out, const ingot_model *model, const recall_spec *spec) {
    *out = (recall_sample){0};
    ingot_rng rng = {spec->config->seed};
    rng.state = ingot_rng_next(&rng) ^ ((uint64_t)spec->task << 56 | (uint64_t)spec->depth << 48 | (uint64_t)spec->sample);
    const size_t n = (size_t)spec->config->n_ctx;
    out->tokens = ingot_alloc_array(n, sizeof *out->tokens, INGOT_MEM_OTHER);
    out->answers = ingot_alloc_array(n, sizeof *out->answers, INGOT_MEM_OTHER);
    ingot_status s = out->tokens && out->answers ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for a context of %zu tokens", n);
    if (s == INGOT_OK) s = spec->task == INGOT_RECALL_COPY ? copy(out, model, spec, &rng) : solve(out, model, spec, &rng);
    if (s != INGOT_OK) ingot_recall_sample_free(out);
    return s;
}

void ingot_recall_sample_free(recall_sample *sample) {
    ingot_dealloc(sample->tokens);
    ingot_dealloc(sample->answers);
    *sample = (recall_sample){0};
}
