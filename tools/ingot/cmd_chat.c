#include "answer.h"
#include "command.h"
#include "common/kv_report.h"
#include "common/line_input.h"
#include "common/system.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Context where -c is not given and the model allows more. */
enum { USUAL_CONTEXT = 8192 };

typedef struct chat {
    const settings *s;
    setup u;
    ingot_plan plan;
    ingot_sampler *sampler;
    int n_ctx;
    bool first;      /* nothing was said yet */
    int32_t pending; /* token that closes the last answer and is not in the cache yet; -1 = none */
    int code;
    bool done;
} chat;

typedef struct chat_word {
    const char *name, *help;
    void (*act)(chat *c);
} chat_word;

static void say_help(chat *c);

static void leave(chat *c) { c->done = true; }

static void clear(chat *c) {
    const ingot_status status = ingot_session_trim(c->u.session, 0);
    if (status != INGOT_OK) c->code = cli_fail_status(status), c->done = true;
    c->first = true;
    c->pending = -1;
}

static void say_stats(chat *c) {
    ingot_cache_memory m;
    char method[INGOT_PLAN_TEXT_BYTES], held[160];
    ingot_cache_memory_get(ingot_engine_cache(c->u.engine), &m);
    fprintf(stderr, "cache %s: %s; room for %d\n", ingot_plan_print(ingot_cache_plan(ingot_engine_cache(c->u.engine)), method, sizeof method), format_held(&m, held, sizeof held), c->n_ctx);
}

static const chat_word words[] = {
    {"/help", "show these words", say_help},
    {"/stats", "show what the cache holds", say_stats},
    {"/clear", "forget the conversation", clear},
    {"/exit", "leave (as does Ctrl-D)", leave},
};
enum { N_WORDS = sizeof words / sizeof *words };

static void say_help(chat *c) {
    (void)c;
    for (int i = 0; i < N_WORDS; i++) fprintf(stderr, "%-8s %s\n", words[i].name, words[i].help);
    fprintf(stderr, "A line that ends in a backslash continues. Ctrl-C ends an answer.\n");
}

/* Whether the line was a word of the chat itself. */
static bool obey(chat *c, const char *line) {
    for (int i = 0; i < N_WORDS; i++)
        if (!strcmp(line, words[i].name)) {
            words[i].act(c);
            return true;
        }
    if (line[0] != '/' || strchr(line, ' ')) return false;
    cli_fail("unknown word %s (/help lists them)", line);
    return true;
}

/* The tokens of one turn of the user, with what closes the answer before. */
static ingot_status turn_tokens(chat *c, const char *text, int32_t **tokens, int *n) {
    const ingot_message messages[2] = {{"system", c->s->system}, {"user", text}};
    const int skip = c->first && c->s->system ? 0 : 1;
    int32_t *ids;
    size_t n_ids;
    *tokens = NULL;
    const ingot_status status = ingot_model_chat_tokens(c->u.model, messages + skip, 2 - skip, c->first, true, &ids, &n_ids);
    if (status != INGOT_OK) return status;
    const size_t closing = c->pending >= 0;
    *tokens = cli_realloc(NULL, n_ids + closing, sizeof **tokens);
    if (closing) **tokens = c->pending;
    memcpy(*tokens + closing, ids, n_ids * sizeof *ids);
    *n = (int)(n_ids + closing);
    ingot_free_memory(ids);
    return INGOT_OK;
}

static bool fits(const chat *c, int n) {
    const int held = ingot_session_tokens(c->u.session);
    if (n <= c->n_ctx - held) return true;
    cli_fail("the context is full: it holds %d of %d tokens and this message needs %d; /clear starts anew, -c makes it larger", held, c->n_ctx, n);
    return false;
}

/* The conversation goes on behind the answer whatever ended it: its closing token follows with the next turn. */
static void finish(chat *c, const answer *a) {
    c->pending = ingot_model_chat_end(c->u.model);
    if (c->pending < 0) c->pending = a->end_token;
    if (a->end == ANSWER_INTERRUPTED) cli_write(" [interrupted]", 14);
    cli_write("\n", 1);
    if (a->end == ANSWER_CONTEXT) cli_fail("the context of %d tokens is full; /clear starts anew, -c makes it larger", c->n_ctx);
    if (a->end == ANSWER_WRITE_FAILED) c->code = cli_output_failed(), c->done = true;
}

/* The last token of an answer that was cut off is shown but not in the cache: it is fed before the closing token. */
static ingot_status feed_last(chat *c, const answer *a) {
    if (a->end == ANSWER_END || !a->n_tokens || ingot_session_tokens(c->u.session) >= c->n_ctx) return INGOT_OK;
    return ingot_session_prefill(c->u.session, &a->tokens[a->n_tokens - 1], 1, NULL, NULL, NULL);
}

static ingot_status reply(chat *c, const int32_t *tokens, int n) {
    const float *logits = NULL;
    answer a = {0};
    system_catch_interrupt(true);
    const int before = ingot_session_tokens(c->u.session);
    ingot_status status = answer_prefill(&c->u, c->sampler, tokens, n, &logits);
    if (status == INGOT_E_CANCELLED) { /* the message counts as not said */
        cli_write("[interrupted]\n", 14);
        if (ingot_session_trim(c->u.session, before) == INGOT_OK) return INGOT_OK;
        cli_warn("the conversation starts anew: the sliding windows no longer hold what came before this message");
        clear(c);
        return INGOT_OK;
    }
    c->first = false;
    if (status == INGOT_OK) status = answer_generate(&a, &c->u, c->s, c->sampler, logits, c->n_ctx, true);
    if (status == INGOT_OK) status = feed_last(c, &a);
    finish(c, &a);
    answer_free(&a);
    return status;
}

static void take_message(chat *c, const char *text) {
    int32_t *tokens;
    int n = 0;
    ingot_status status = turn_tokens(c, text, &tokens, &n);
    if (status == INGOT_E_INVALID) { /* a bad message, such as one that is no UTF-8 */
        cli_fail_status(status);
        return;
    }
    if (status == INGOT_OK && fits(c, n)) status = reply(c, tokens, n);
    free(tokens);
    if (status != INGOT_OK) c->code = cli_fail_status(status), c->done = true;
}

static int prepare(chat *c) {
    int code = setup_model(&c->u, c->s, "chat");
    if (code) return code;
    if (!c->u.info.has_chat_template) return cli_fail("%s has no chat format: it continues text; use 'ingot run' with a prompt instead", c->s->model);
    const int trained = c->u.info.n_ctx_train;
    c->n_ctx = c->s->n_ctx ? c->s->n_ctx : trained > 0 && trained < USUAL_CONTEXT ? trained : USUAL_CONTEXT;
    if (trained > 0 && c->n_ctx > trained && !c->s->quiet) cli_warn("the context of %d tokens is larger than the %d that the model was trained for", c->n_ctx, trained);
    int32_t *ids;
    size_t n;
    ingot_status status = ingot_model_chat_tokens(c->u.model, NULL, 0, true, true, &ids, &n); /* says now what it would say later */
    if (status != INGOT_OK) return cli_fail_status(status);
    ingot_free_memory(ids);
    code = setup_engine(&c->u, c->s, &c->plan, c->n_ctx);
    if (code) return code;
    const uint64_t seed = c->s->seed < 0 ? system_random_seed() : (uint64_t)c->s->seed;
    const ingot_sampler_config config = settings_sampler(c->s, seed);
    status = ingot_sampler_create(&c->sampler, &config, c->u.info.n_vocab);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

static void converse(chat *c) {
    strbuf line = {0};
    char name[128];
    if (isatty(STDIN_FILENO) && !c->s->quiet)
        fprintf(stderr, "%s, context of %d tokens. /help lists what else can be typed.\n",
                cli_printable(c->u.info.name && *c->u.info.name ? c->u.info.name : c->s->model, name, sizeof name), c->n_ctx);
    while (!c->done) {
        const line_result r = line_read(&line, "> ", ". ");
        if (r == LINE_END) break;
        if (r == LINE_INTERRUPTED || !line.n) continue;
        if (memchr(line.data, 0, line.n)) cli_fail("a message cannot hold a zero byte");
        else if (!obey(c, line.data)) take_message(c, line.data);
    }
    strbuf_free(&line);
    line_close();
}

static int run_chat(const settings *s) {
    chat c = {.s = s, .first = true, .pending = -1};
    if (!settings_plan(s, &c.plan)) return CLI_WRONG_USE;
    system_catch_interrupt(true);
    c.code = prepare(&c);
    if (!c.code) converse(&c);
    ingot_sampler_destroy(c.sampler);
    setup_close(&c.u);
    return c.code;
}

static const option_group *const groups[] = {&settings_model, &settings_system,  &settings_answer, &settings_sampling, &settings_context,
                                             &settings_cache, &settings_compute, &settings_passes, &settings_quiet,  NULL};

const command command_chat = {
    .name = "chat", .summary = "Talk with a model; the conversation stays in the cache", .synopsis = "-m MODEL [options]",
    .details = "Reads a message a line, from a terminal or a pipe, and answers in the model's own chat format. Only what is new is computed. "
               "/help lists the words that the chat itself understands; Ctrl-C ends an answer, Ctrl-D the conversation.",
    .groups = groups, .print_more = settings_print_methods, .run = run_chat,
};
