#include "answer.h"
#include "command.h"
#include "common/json.h"
#include "common/kv_report.h"
#include "common/system.h"
#include <ingot/ingot.h>
#include <string.h>
#include <unistd.h>

/* Room for an answer of unknown length where the context size is not given. */
enum { OPEN_ANSWER = 2048 };

typedef struct run_job {
    setup u;
    ingot_plan plan;
    int32_t *tokens; /* of the prompt */
    size_t n_tokens;
    int n_ctx;
    uint64_t seed;
    ingot_sampler *sampler;
    double prefill_seconds;
    answer answer;
} run_job;

static int tokenize(run_job *j, const settings *s, const strbuf *text) {
    ingot_status status;
    if (s->chat) {
        if (memchr(text->data, 0, text->n)) return cli_fail("the prompt has a zero byte, which a chat message cannot hold");
        ingot_message messages[2] = {{"system", s->system}, {"user", text->data}};
        const int skip = s->system ? 0 : 1;
        status = ingot_model_chat_tokens(j->u.model, messages + skip, 2 - skip, true, true, &j->tokens, &j->n_tokens);
    } else {
        const int flags = INGOT_TOKENIZE_BOS | (s->special ? INGOT_TOKENIZE_SPECIAL : 0);
        status = ingot_model_tokenize(j->u.model, text->data, text->n, flags, &j->tokens, &j->n_tokens);
    }
    if (status != INGOT_OK) return cli_fail_status(status);
    return j->n_tokens ? CLI_DONE : cli_fail("the prompt has no tokens");
}

/* The context: what -c says, else what the job needs, up to what the model was trained for. */
static int choose_context(run_job *j, const settings *s) {
    const size_t trained = (size_t)j->u.info.n_ctx_train, prompt = j->n_tokens;
    const size_t answer = s->n_predict < 0 ? OPEN_ANSWER : (size_t)s->n_predict;
    size_t n = s->n_ctx ? (size_t)s->n_ctx : (prompt + answer + INGOT_PAGE_TOKENS - 1) / INGOT_PAGE_TOKENS * INGOT_PAGE_TOKENS;
    if (!s->n_ctx && trained && n > trained) {
        n = trained;
        if (s->n_predict > 0 && prompt + answer > n && prompt <= n && !s->quiet)
            cli_warn("prompt (%zu tokens) and answer (%zu) exceed the %zu tokens that the model was trained for; the answer ends there (-c overrides)", prompt, answer, n);
    }
    if (s->n_ctx && trained && n > trained && !s->quiet) cli_warn("the context of %zu tokens is larger than the %zu that the model was trained for", n, trained);
    if (prompt > n) return cli_fail("the prompt has %zu tokens, the context holds %zu%s", prompt, n, s->n_ctx ? " (-c)" : " (what the model was trained for; -c overrides)");
    if (n > INT32_MAX - INGOT_PAGE_TOKENS) return cli_fail("a context of %zu tokens is too large", n);
    j->n_ctx = (int)n;
    return CLI_DONE;
}

static int prepare(run_job *j, const settings *s, const strbuf *text) {
    int code = setup_model(&j->u, s, "run");
    if (!code) code = tokenize(j, s, text);
    if (!code) code = choose_context(j, s);
    if (!code) code = setup_engine(&j->u, s, &j->plan, j->n_ctx);
    if (code) return code;
    j->seed = s->seed < 0 ? system_random_seed() : (uint64_t)s->seed;
    const ingot_sampler_config config = settings_sampler(s, j->seed);
    const ingot_status status = ingot_sampler_create(&j->sampler, &config, j->u.info.n_vocab);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

static int compute(run_job *j, const settings *s) {
    const float *logits = NULL;
    const double start = system_seconds();
    ingot_status status = answer_prefill(&j->u, j->sampler, j->tokens, (int)j->n_tokens, &logits);
    j->prefill_seconds = system_seconds() - start;
    if (status == INGOT_E_CANCELLED) return cli_fail("interrupted while reading the prompt");
    if (status == INGOT_OK) status = answer_generate(&j->answer, &j->u, s, j->sampler, logits, j->n_ctx, !s->json);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

static double rate(double n, double seconds) { return seconds > 0 ? n / seconds : 0; }

static int report_json(const run_job *j, const settings *s) {
    const answer *a = &j->answer;
    json_t *o = json_object();
    json_put(o, "text", json_stringn(a->stream.text.data ? a->stream.text.data : "", a->stream.text.n));
    json_put(o, "tokens", json_tokens(a->tokens, (size_t)a->n_tokens));
    json_put(o, "n_prompt", json_integer((json_int_t)j->n_tokens));
    json_put(o, "n_generated", json_integer(a->n_tokens));
    json_put(o, "prefill_tok_s", json_number(rate((double)j->n_tokens, j->prefill_seconds)));
    json_put(o, "decode_tok_s", json_number(rate(a->n_passes, a->seconds)));
    json_put(o, "kv", kv_report_json(j->u.engine, &j->u.info));
    json_put(o, "calibration", j->u.calibration_path ? json_text(j->u.calibration_path) : json_null());
    json_put(o, "peak_rss_bytes", json_integer((json_int_t)system_peak_rss_bytes()));
    json_put(o, "stop_reason", json_text(answer_end_name(a->end)));
    json_put(o, "seed", json_integer((json_int_t)j->seed));
    json_put(o, "n_ctx", json_integer(j->n_ctx));
    json_put(o, "model", json_text(s->model));
    json_put(o, "device", json_text(ingot_device_description(j->u.device)));
    json_put(o, "threads", json_integer(ingot_device_threads(j->u.device)));
    json_put(o, "activations", json_text(s->activations == INGOT_ACT_FLOAT ? "float" : "int8"));
    json_put(o, "version", json_text(ingot_version()));
    return json_print(o);
}

static void report_text(const run_job *j) {
    const answer *a = &j->answer;
    ingot_cache_memory m;
    char method[INGOT_PLAN_TEXT_BYTES], held[160];
    const ingot_cache *cache = ingot_engine_cache(j->u.engine);
    ingot_cache_memory_get(cache, &m);
    fprintf(stderr, "prompt %zu tokens, %.1f tok/s; answer %d tokens, %.1f tok/s (%s); seed %llu\n", j->n_tokens,
            rate((double)j->n_tokens, j->prefill_seconds), a->n_tokens, rate(a->n_passes, a->seconds), answer_end_name(a->end),
            (unsigned long long)j->seed);
    fprintf(stderr, "cache %s: %s; %s\n", ingot_plan_print(ingot_cache_plan(cache), method, sizeof method), format_held(&m, held, sizeof held),
            ingot_device_description(j->u.device));
}

static int report(const run_job *j, const settings *s) {
    const answer *a = &j->answer;
    if (a->end == ANSWER_WRITE_FAILED) return cli_output_failed();
    if (s->json) return report_json(j, s);
    const strbuf *text = &a->stream.text;
    const bool open_line = text->n && text->data[text->n - 1] != '\n';
    if (open_line && isatty(STDOUT_FILENO) && !cli_write("\n", 1)) return cli_output_failed();
    if (!s->quiet) report_text(j);
    return CLI_DONE;
}

static int run_run(const settings *s) {
    run_job j = {0};
    strbuf text = {0};
    if (!settings_plan(s, &j.plan)) return CLI_WRONG_USE;
    if (s->system && !s->chat) return cli_wrong_use("run", "--system needs --chat");
    int code = s->model ? settings_read_text(s, "run", "prompt", true, &text) : CLI_DONE;
    system_catch_interrupt(true);
    if (!code) code = prepare(&j, s, &text);
    if (!code) code = compute(&j, s);
    if (!code) code = report(&j, s);
    answer_free(&j.answer);
    ingot_sampler_destroy(j.sampler);
    ingot_free_memory(j.tokens);
    strbuf_free(&text);
    setup_close(&j.u);
    return code;
}

static const option_group *const groups[] = {&settings_model,   &settings_prompt,  &settings_system, &settings_answer, &settings_sampling, &settings_context,
                                             &settings_cache, &settings_compute, &settings_passes, &settings_json, &settings_quiet, NULL};

const command command_run = {
    .name = "run", .summary = "Answer one prompt", .synopsis = "-m MODEL [-p TEXT | -f FILE] [options]",
    .details = "The prompt comes from -p, from a file, or from a pipe. The answer goes to stdout as it is made; Ctrl-C ends it early (exit code 0 when the prompt had been read), "
               "a second Ctrl-C ends the program.",
    .groups = groups, .print_more = settings_print_methods, .run = run_run,
};
