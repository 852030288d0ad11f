/* All settings that options of any command can change, and the groups of options that commands choose from. */
#ifndef TOOLS_SETTINGS_H
#define TOOLS_SETTINGS_H
#include "options.h"
#include <ingot/session.h>

typedef struct settings {
    text_list positional;
    bool json, markdown, quiet;
    /* model and machine */
    const char *model, *device;
    int threads, n_ctx, n_batch;
    int activations; /* ingot_activations, the order of its words */
    /* cache */
    const char *kv, *kv_k, *kv_v, *kv_policy, *kv_layers, *calibration;
    int kv_window, kv_sinks;
    /* text in and out */
    const char *prompt, *file, *system;
    bool chat, special, bos;
    int n_predict;
    bool ignore_eos;
    text_list stop;
    /* sampling */
    float temperature, top_p, min_p, repeat_penalty;
    int top_k, repeat_last_n;
    int64_t seed; /* -1 = a new one each time */
    /* calibrate */
    const char *output;
    bool no_codebooks;
    /* eval */
    int n_windows;
    bool stream;
    const char *contexts, *depths, *tasks, *methods, *exact, *budgets; /* lists, apart by commas */
    text_list plans;
    int n_samples, hops, speed_depth, n_together;
    /* bench */
    const char *heads, *kv_heads, *head_dims, *thread_counts, *prompts, *attn; /* lists */
    int n_prefill, n_gen, n_reps, clock;
    float min_time, cold, share;
    bool csv, kernel;
} settings;

/* The defaults of all commands; a command may then set its own. */
void settings_defaults(settings *s);

extern const option_group settings_model, settings_vocabulary, settings_compute, settings_passes, settings_cache, settings_prompt, settings_text,
    settings_answer, settings_system, settings_sampling, settings_eval, settings_stream, settings_contexts, settings_recall, settings_report, settings_context, settings_json, settings_markdown, settings_quiet,
    settings_bench_attn, settings_bench_kernel, settings_bench_append, settings_bench_model, settings_bench_plan, settings_bench_exact, settings_bench_precision, settings_bench_compare, settings_bench_cache, settings_bench_machine, settings_bench_protocol, settings_bench_output;

/* The plan that the cache options name; on failure prints why and gives false (wrong use). */
bool settings_plan(const settings *s, ingot_plan *plan);
ingot_sampler_config settings_sampler(const settings *s, uint64_t seed);
/* The text of -p, -f or a piped stdin; `what` names it in messages ("prompt"). An exit code; CLI_WRONG_USE when none is given.
 * One line end at the end of a file is dropped when `drop_line_end`. */
int settings_read_text(const settings *s, const char *command, const char *what, bool drop_line_end, strbuf *out);
/* Prints the cache methods as a part of a help text. */
void settings_print_methods(FILE *f);
#endif
