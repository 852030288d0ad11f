/* Measuring what a cache costs: perplexity, KL divergence against the same weights with the f16 cache, recall over long contexts,
 * decode speed. docs/evaluating.md says how to read the figures. Part of libingot-engine. C11, C++-clean. */
#ifndef INGOT_EVAL_H
#define INGOT_EVAL_H
#include <ingot/session.h>
#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_EVAL_MESSAGE_BYTES 512

/* A cache under test. */
typedef struct ingot_eval_plan {
    ingot_plan plan;
    const ingot_calibration *calibration; /* borrowed; NULL when the plan needs none */
    bool stream; /* fed one token at a time, as in generation (what evicts then does so after every token); else in batches */
} ingot_eval_plan;

/* --- perplexity and KL divergence --- */
typedef struct ingot_eval_config {
    int n_ctx;     /* tokens of one window */
    int n_windows; /* 0 = all whole windows of the text */
    int first_window;
    ingot_plan plan;                      /* what ingot_eval_ppl and ingot_eval_kld measure; ingot_eval_kld_many takes plans of its own */
    const ingot_calibration *calibration; /* likewise */
    bool stream;                          /* likewise */
    ingot_activations activations;
    int n_batch;   /* tokens of one forward pass; 0 = the engine's default */
    ingot_progress progress; /* NULL allowed */
    void *progress_user;
} ingot_eval_config;

/* Over the tokens of one window, nats. Window w starts at token w * n_ctx of the text; where the model asks for
 * BOS the first token of each window is replaced by it. nll_all: mean of tokens 1..n_ctx-1; nll_second_half: n_ctx/2 and later.
 * The rest is for kld only and over predicted positions 0..n_ctx-2: KL(f16 || plan) as mean, 99 % and 99.9 % quantiles (linear between order
 * statistics), maximum, and means of the four quarters of the window (NaN where a quarter has no position); top1_agreement: share of
 * positions with the same most probable token; dp = p(right token) - p_f16(right token) in percent, as root mean square (what llama.cpp
 * prints as "RMS Δp") and as signed mean ("Mean Δp"). */
typedef struct ingot_eval_window {
    double nll_all, nll_second_half;
    double kld_mean, kld_p99, kld_p999, top1_agreement, nll_second_half_base;
    double kld_max, kld_quarter[4], rms_dp, mean_dp;
} ingot_eval_window;

typedef struct ingot_eval_result {
    double ppl;      /* exp of the mean nll_second_half */
    double ppl_base; /* kld only: the f16 cache */
    double kld_mean, kld_p99, kld_p999, top1_agreement; /* as in a window, over the positions of all windows */
    double kld_max, kld_quarter[4], rms_dp, mean_dp;
    uint64_t n_tokens; /* scored tokens */
    int n_windows;
    ingot_eval_window *windows; /* [n_windows]; free with ingot_free_memory */
    ingot_cache_memory memory;  /* of the cache that holds the last window */
    ingot_status status;        /* ingot_eval_kld_many: INGOT_OK, or why this plan has no figures, and the message */
    char message[INGOT_EVAL_MESSAGE_BYTES];
} ingot_eval_result;

/* tokens[n] is the whole tokenized text. Errors: INGOT_E_INVALID when it is shorter than one window (both counts). */
ingot_status ingot_eval_ppl(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config);
ingot_status ingot_eval_kld(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config);
/* plans[n_plans] against one run of the f16 cache; out[n_plans]. A plan that cannot be measured (out[i].status) does not stop the others; its windows are
 * NULL. Every plan has an engine of its own at the same time: a few are a good number. Errors: those of ingot_eval_kld that concern all
 * plans; out is cleared then. */
ingot_status ingot_eval_kld_many(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config,
                                 const ingot_eval_plan *plans, int n_plans);

/* --- recall: things that stand in a long context and are asked for at its end --- */
typedef enum ingot_recall_task {
    INGOT_RECALL_COPY,      /* a passage and the same passage again: every token of the second copy but the first 16 */
    INGOT_RECALL_PASSKEY,   /* one number, said once */
    INGOT_RECALL_NEEDLES,   /* a number for each of several names, one at each depth, asked for in another order */
    INGOT_RECALL_VARIABLES, /* after RULER (Hsieh et al. 2024): which variables have a value that was handed on from one to the next */
    INGOT_N_RECALL_TASKS
} ingot_recall_task;
const char *ingot_recall_task_name(int task);        /* "copy"; NULL when out of range */
const char *ingot_recall_task_description(int task); /* likewise */

#define INGOT_RECALL_MAX_DEPTHS 16
typedef struct ingot_recall_config {
    int n_ctx;         /* tokens of one context, question and answer included */
    const int *depths; /* [n_depths] in percent of the filling text, ascending; where the thing stands */
    int n_depths;
    unsigned tasks;    /* bit i: task i */
    int n_samples;     /* contexts per depth; for copy and needles, which have all depths in one, contexts */
    int hops;          /* variables: how often the value is handed on, 1 to 8 */
    uint64_t seed;
    ingot_activations activations;
    int n_batch;       /* as in ingot_eval_config */
    ingot_progress progress;
    void *progress_user;
} ingot_recall_config;

/* An answer counts as given when each of its tokens is the most probable one behind the context and the answer so far. */
typedef struct ingot_recall_cell {
    int n_answers, n_tokens;
    double accuracy; /* share of answers; NaN when there are none */
    double logprob;  /* mean of log p over the tokens of the right answers, nats */
} ingot_recall_cell;

typedef struct ingot_recall_result {
    ingot_recall_cell by_depth[INGOT_N_RECALL_TASKS][INGOT_RECALL_MAX_DEPTHS];
    ingot_recall_cell all[INGOT_N_RECALL_TASKS]; /* over all depths */
    ingot_status status; /* as in ingot_eval_result */
    char message[INGOT_EVAL_MESSAGE_BYTES];
} ingot_recall_result;

/* text[n_text] fills the space between what is to be found (NULL: made-up sentences). All plans get the same contexts; out[n_plans].
 * Errors: INGOT_E_INVALID naming a wrong value, or that a context or the text is too short; INGOT_E_CANCELLED. */
ingot_status ingot_eval_recall(ingot_recall_result *out, ingot_model *model, const int32_t *text, size_t n_text, const ingot_recall_config *config,
                               const ingot_eval_plan *plans, int n_plans);

/* --- decode speed --- */
typedef struct ingot_speed_config {
    int depth;    /* tokens in the cache when it begins: tokens[n] again and again */
    int n_rounds; /* in each, f16 and then every plan decodes n_block tokens */
    int n_block;  /* at least 2: the first token of a block, with cold caches, is not counted */
    ingot_activations activations;
    int n_batch;  /* of the prefill; as in ingot_eval_config */
    ingot_progress progress;
    void *progress_user;
} ingot_speed_config;

/* From the median time of a token, logits included. base: the f16 cache in the same rounds. */
typedef struct ingot_speed_result {
    double tokens_per_second, base_tokens_per_second;
    ingot_cache_memory memory; /* behind all tokens */
    ingot_status status;       /* as in ingot_eval_result */
    char message[INGOT_EVAL_MESSAGE_BYTES];
} ingot_speed_result;

/* Decodes with plans[n_plans] and f16 by turns, so that a slow moment of the machine hits all of them; out[n_plans]. Prefill is in batches also for plans
 * that stream. Errors: INGOT_E_INVALID naming a wrong value, those of the base, INGOT_E_CANCELLED. */
ingot_status ingot_eval_speed(ingot_speed_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_speed_config *config,
                              const ingot_eval_plan *plans, int n_plans);

#ifdef __cplusplus
}
#endif
#endif
