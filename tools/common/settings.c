#include "settings.h"
#include "system.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(settings, field)
#define GROUP(name, title, ...)                                          \
    static const option name##_rows[] = {__VA_ARGS__};                   \
    const option_group name = {title, name##_rows, (int)(sizeof name##_rows / sizeof *name##_rows)}
#define FLAG(letter, name, field, help) {name, letter, OPTION_FLAG, AT(field), NULL, help, 0, 0, NULL}
#define TEXT(letter, name, field, value, help) {name, letter, OPTION_TEXT, AT(field), value, help, 0, 0, NULL}
#define TEXTS(letter, name, field, value, help) {name, letter, OPTION_TEXTS, AT(field), value, help, 0, 0, NULL}
#define INT(letter, name, field, min, max, help) {name, letter, OPTION_INT, AT(field), "N", help, min, max, NULL}
#define INT64(letter, name, field, min, max, help) {name, letter, OPTION_INT64, AT(field), "N", help, min, max, NULL}
#define FLOAT(letter, name, field, min, max, help) {name, letter, OPTION_FLOAT, AT(field), "X", help, min, max, NULL}
#define WORD(letter, name, field, words, help) {name, letter, OPTION_WORD, AT(field), NULL, help, 0, 0, words}

GROUP(settings_model, "Model", TEXT('m', "model", model, "FILE", "the model, a GGUF file (the first one when it is split)"));

GROUP(settings_compute, "Computing",
      INT('t', "threads", threads, 0, 1024, "threads; 0: one per core"),
      TEXT(0, "device", device, "NAME", "cpu (fastest code for this machine) or ref (scalar reference)"));

GROUP(settings_passes, "Forward passes",
      INT('b', "batch-size", n_batch, 1, 16384, "tokens of the prompt that are computed at once"),
      WORD(0, "activations", activations, "int8|float", "activations of matrix products: 8 bits (faster) or float (more exact)"));

GROUP(settings_cache, "Cache",
      TEXT(0, "kv", kv, "SPEC", "how keys and values are stored, such as int4 or int4,group=128; see below for all methods"),
      TEXT(0, "kv-k", kv_k, "SPEC", "the same for the keys alone"),
      TEXT(0, "kv-v", kv_v, "SPEC", "the same for the values alone"),
      INT(0, "kv-window", kv_window, -1, 65536, "this many of the newest tokens stay exact (f16); -1: what the method says"),
      INT(0, "kv-sinks", kv_sinks, -1, 4096, "this many of the first tokens stay exact (f16); -1: what the method says"),
      TEXT(0, "kv-policy", kv_policy, "POLICY", "which tokens stay: NAME[,budget=N|N%][,recent=N]; see below for all policies"),
      TEXT(0, "kv-layers", kv_layers, "LAYERS", "layers that are stored otherwise: RANGE[,RANGE]...=SPEC, or =SPEC/SPEC for keys and values, several apart by ';'; such as 0-1,28-29=q8_0"),
      TEXT(0, "calibration", calibration, "FILE", "what 'ingot calibrate' wrote; else INGOT_CALIBRATION, else MODEL.ingotcal beside the model, where a method needs one"));

GROUP(settings_context, "Context",
      INT('c', "ctx-size", n_ctx, 0, INT_MAX, "tokens that the cache holds; 0: enough for the job, at most what the model was trained for"));

GROUP(settings_prompt, "Prompt",
      TEXT('p', "prompt", prompt, "TEXT", "the prompt"),
      TEXT('f', "file", file, "FILE", "read the prompt from a file (- for the standard input); one line end at its end is dropped"),
      FLAG(0, "chat", chat, "put the prompt as a user's message into the model's own chat format"),
      FLAG(0, "special", special, "control tokens written in the prompt count as such, and those generated are shown"));

GROUP(settings_text, "Text",
      TEXT('p', "prompt", prompt, "TEXT", "the text"),
      TEXT('f', "file", file, "FILE", "read the text from a file (- for the standard input)"));

GROUP(settings_vocabulary, "Tokens",
      FLAG(0, "special", special, "control tokens written in the text become that token"),
      FLAG(0, "bos", bos, "put the model's BOS token first where the model asks for one"));

GROUP(settings_answer, "Answer",
      INT('n', "n-predict", n_predict, -1, INT_MAX, "tokens to generate; -1: until the model ends or the context is full; 0: only read the prompt"),
      TEXTS(0, "stop", stop, "TEXT", "end in front of this text (may be given several times)"),
      FLAG(0, "ignore-eos", ignore_eos, "never let the model end its answer"));

GROUP(settings_system, "Conversation", TEXT(0, "system", system, "TEXT", "the system message at the start of the conversation"));

GROUP(settings_sampling, "Sampling",
      FLOAT(0, "temp", temperature, 0, 100, "temperature; 0: always the most probable token"),
      INT(0, "top-k", top_k, 0, INT_MAX, "only the K most probable tokens; 0: off"),
      FLOAT(0, "top-p", top_p, 1e-6, 1, "only the most probable tokens that together have this probability; 1: off"),
      FLOAT(0, "min-p", min_p, 0, 1, "only tokens at least this probable in relation to the best one; 0: off"),
      FLOAT(0, "repeat-penalty", repeat_penalty, 0.01, 100, "make recent tokens less probable by this factor; 1: off"),
      INT(0, "repeat-last-n", repeat_last_n, 0, 1 << 20, "how many tokens count as recent"),
      INT64('s', "seed", seed, -1, 9e18, "seed of the random choice; -1: another one each time"));

GROUP(settings_eval, "Evaluation",
      INT('c', "ctx-size", n_ctx, 2, INT_MAX, "tokens of one window"),
      INT(0, "windows", n_windows, 0, INT_MAX, "only the first N windows of the text; 0: all"));

GROUP(settings_stream, "Feeding",
      FLAG(0, "stream", stream, "feed the cache under test one token at a time, as in generation: what evicts does so after every token"));

GROUP(settings_contexts, "Contexts", TEXT('c', "ctx", contexts, "LIST", "tokens of a context; several apart by commas"));

GROUP(settings_recall, "Recall",
      TEXT(0, "tasks", tasks, "LIST", "what is to be recalled, apart by commas: copy, passkey, needles, variables, or all"),
      TEXT(0, "depths", depths, "LIST", "where it stands, in percent of the text"),
      INT(0, "samples", n_samples, 1, 10000, "contexts of each kind"),
      INT(0, "hops", hops, 1, 8, "variables: how often a value is handed on"),
      INT64('s', "seed", seed, 0, 9e18, "seed of the contexts"));

GROUP(settings_report, "Report",
      TEXT('o', "output", output, "DIR", "where REPORT.md and report.json go; what is there already is not computed again"),
      TEXT(0, "methods", methods, "LIST", "methods, apart by commas; all: every one; none: only what --plan names"),
      TEXTS(0, "plan", plans, "PLAN", "one more plan, as --kv takes it (may be given several times)"),
      TEXT(0, "exact", exact, "W,S", "measure every plan once more with an exact window of W tokens and S sinks; 0,0: do not"),
      INT(0, "windows", n_windows, 0, INT_MAX, "only the first N windows of the text at each context; 0: all"),
      TEXT(0, "budgets", budgets, "LIST", "tokens that policies may keep: perplexity of each policy with each budget, fed token by token"),
      INT(0, "speed-depth", speed_depth, 0, INT_MAX, "decode speed with so many tokens in the cache; 0: do not measure it"),
      INT(0, "together", n_together, 1, 64, "plans that share one run of the f16 cache; more are faster and take more memory"));

/* Shapes of the keys and values of a layer. */
#define KV_SHAPES                                     \
    TEXT(0, "kv-heads", kv_heads, "LIST", "KV heads"), \
    TEXT(0, "head-dim", head_dims, "LIST", "elements of a head")

GROUP(settings_bench_attn, "Attention",
      TEXT('c', "ctx", contexts, "LIST", "tokens of context; 16K is 16384. 27 more are really there, so that it ends inside a page"),
      TEXT(0, "heads", heads, "LIST", "query heads"),
      KV_SHAPES,
      INT(0, "prefill", n_prefill, 1, 65536, "query tokens at once, the last ones of the context; 1: decoding"));

GROUP(settings_bench_kernel, "Kernel",
      FLAG(0, "kernel", kernel, "measure the back end's attention alone, too (one thread): what the cache around it adds"));

GROUP(settings_bench_append, "Storing",
      TEXT(0, "tokens", contexts, "LIST", "tokens of one step"),
      KV_SHAPES);

GROUP(settings_bench_model, "Runs",
      TEXT(0, "prefill", prompts, "LIST", "tokens of prompts to read; none: do not measure it"),
      TEXT(0, "depths", contexts, "LIST", "decoding behind so many tokens, which are really read; 16K is 16384; none: do not measure it"),
      INT(0, "gen", n_gen, 2, 65536, "tokens to decode from each depth, again and again; the first one is not counted"));

GROUP(settings_bench_plan, "More of the cache",
      TEXT(0, "kv-policy", kv_policy, "POLICY", "which tokens stay in all of them: NAME[,budget=N|N%][,recent=N]"),
      TEXT(0, "kv-layers", kv_layers, "LAYERS", "layers that all of them store otherwise"),
      TEXT(0, "calibration", calibration, "FILE", "what 'ingot calibrate' wrote; else INGOT_CALIBRATION, else MODEL.ingotcal beside the model, where a method needs one"));

GROUP(settings_bench_cache, "Cache",
      TEXTS(0, "kv", plans, "LIST", "plans to measure by turns: SPEC[,SPEC]..., such as f16,int4,int4,group=64; see below for all methods (may be given several times)"),
      TEXT(0, "kv-k", kv_k, "SPEC", "how all of them store keys"),
      TEXT(0, "kv-v", kv_v, "SPEC", "how all of them store values"));

GROUP(settings_bench_precision, "Precision",
      TEXT(0, "attn", attn, "LIST", "precise, fast, or both: how decode attention computes with integer codes, for every plan; else as the plan says"));

GROUP(settings_bench_exact, "Exact tokens",
      INT(0, "kv-window", kv_window, -1, 65536, "this many of the newest tokens stay exact (f16), unless a plan says so itself; -1: what the method says"),
      INT(0, "kv-sinks", kv_sinks, -1, 4096, "this many of the first tokens stay exact (f16), unless a plan says so itself; -1: what the method says"));

GROUP(settings_bench_compare, "Comparison",
      TEXT(0, "attn", attn, "WORD", "precise or fast: how decode attention computes with integer codes, for both; else as the plan says"),
      TEXT('m', "model", model, "FILE", "compare decoding with this model instead of one attention operation"),
      INT(0, "gen", n_gen, 2, 65536, "with a model: tokens to decode from each depth, again and again; the first one is not counted"),
      FLOAT(0, "share", share, -1, 100, "percent of a token's time that attention takes, for the end-to-end gain; -1: show it for 25 and 50"));

GROUP(settings_bench_machine, "Machine",
      TEXT('t', "threads", thread_counts, "LIST", "threads"),
      TEXT(0, "device", device, "NAME", "cpu (fastest code for this machine) or ref (scalar reference)"));

GROUP(settings_bench_protocol, "Measuring",
      FLOAT(0, "min-time", min_time, 0, 1e6, "seconds of measuring for each row, about; at least 7 rounds are done"),
      INT(0, "reps", n_reps, 0, 1 << 20, "rounds; 0: as many as --min-time allows"),
      FLOAT(0, "cold", cold, 0, 1e9, "MiB of memory that the data of each row is rotated over; 0: a quarter more than the largest cache of the processor"),
      WORD(0, "clock", clock, "wall|cpu", "what is counted: time on the wall, or time that threads ran, which others on the machine disturb less"));

GROUP(settings_bench_output, "Output",
      FLAG(0, "json", json, "JSON instead of a table"),
      FLAG(0, "csv", csv, "CSV instead of a table"),
      TEXT('o', "output", output, "FILE", "write there instead of the standard output"));

GROUP(settings_json, "Output", FLAG(0, "json", json, "print JSON instead of text"));
GROUP(settings_markdown, "Document", FLAG(0, "markdown", markdown, "print everything as a Markdown document (docs/methods.md)"));
GROUP(settings_quiet, "Messages", FLAG('q', "quiet", quiet, "no progress, no timings, no warnings"));

void settings_defaults(settings *s) {
    *s = (settings){.device = "cpu", .kv = "f16", .kv_window = -1, .kv_sinks = -1, .n_batch = 512, .activations = INGOT_ACT_INT8, .n_predict = -1, .seed = -1};
    ingot_sampler_config c = {0};
    ingot_sampler_defaults(&c);
    s->temperature = c.temperature, s->top_k = c.top_k, s->top_p = c.top_p, s->min_p = c.min_p;
    s->repeat_penalty = c.repeat_penalty, s->repeat_last_n = c.repeat_last_n;
}

bool settings_plan(const settings *s, ingot_plan *plan) {
    const ingot_plan_spec spec = {.kv = s->kv, .k = s->kv_k, .v = s->kv_v, .policy = s->kv_policy, .layers = s->kv_layers, .attn = s->attn,
                                  .window = s->kv_window, .sinks = s->kv_sinks};
    if (ingot_plan_parse(plan, &spec) == INGOT_OK) return true;
    cli_fail("%s", ingot_last_error());
    return false;
}

ingot_sampler_config settings_sampler(const settings *s, uint64_t seed) {
    return (ingot_sampler_config){.temperature = s->temperature, .top_k = s->top_k, .top_p = s->top_p, .min_p = s->min_p,
                                  .repeat_penalty = s->repeat_penalty, .repeat_last_n = s->repeat_last_n, .seed = seed};
}

int settings_read_text(const settings *s, const char *command, const char *what, bool drop_line_end, strbuf *out) {
    if (s->prompt && s->file) return cli_wrong_use(command, "give the %s with -p or with -f, not both", what);
    if (s->prompt) {
        strbuf_add(out, s->prompt, strlen(s->prompt));
    } else {
        if (!s->file && isatty(STDIN_FILENO)) return cli_wrong_use(command, "no %s: give -p TEXT, -f FILE, or pipe it in", what);
        if (!system_read_file(out, s->file ? s->file : "-")) return CLI_FAILED;
        if (drop_line_end && out->n && out->data[out->n - 1] == '\n') out->n--;
    }
    if (!out->n) return cli_wrong_use(command, "the %s is empty", what);
    return CLI_DONE;
}

static void print_parts(FILE *f, ingot_part_kind kind) {
    for (int i = 0; i < ingot_part_count(kind); i++) {
        const ingot_part_info *p = ingot_part_get(kind, i);
        char right[512], bits[32] = "";
        if (kind == INGOT_PART_METHOD) snprintf(bits, sizeof bits, "%.3f bits: ", p->bits_per_element);
        snprintf(right, sizeof right, "%s%s%s%s%s%s", bits, p->description, p->sides == 3 ? "" : p->sides == 1 ? " (keys only)" : " (values only)",
                 *p->options ? "; options: " : "", p->options, p->needs_calibration ? "; needs a calibration" : "");
        fprintf(f, "  %-28s", p->name);
        options_print_wrapped(f, right, 30, 30);
    }
}

void settings_print_methods(FILE *f) {
    fprintf(f, "\nCache methods (a SPEC is METHOD[,OPTION=VALUE]...[,TRANSFORM]...; bits stored per element):\n");
    print_parts(f, INGOT_PART_METHOD);
    fprintf(f, "\nTransforms (replace the method's own of the same kind):\n");
    print_parts(f, INGOT_PART_TRANSFORM);
    fprintf(f, "\nPolicies:\n");
    print_parts(f, INGOT_PART_POLICY);
}
