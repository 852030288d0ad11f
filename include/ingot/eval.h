/* Measuring what a cache costs: perplexity, and KL divergence against the same weights with the f16 cache.
 * Part of libingot-engine. C11, C++-clean. */
#ifndef INGOT_EVAL_H
#define INGOT_EVAL_H
#include <ingot/session.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_eval_config {
    int n_ctx;     /* tokens of one window */
    int n_windows; /* 0 = all whole windows of the text */
    int first_window;
    ingot_plan plan;
    ingot_activations activations;
    int n_batch;   /* tokens of one forward pass; 0 = the engine's default */
    ingot_progress progress; /* NULL allowed */
    void *progress_user;
} ingot_eval_config;

/* Means over the tokens of one window, nats. Window w starts at token w * n_ctx of the text; where the model asks for
 * BOS the first token of each window is replaced by it. nll_all: tokens 1..n_ctx-1; nll_second_half: n_ctx/2 and later. */
typedef struct ingot_eval_window {
    double nll_all, nll_second_half;
    double kld_mean, kld_p99, kld_p999, top1_agreement, nll_second_half_base; /* kld only; over predicted positions 0..n_ctx-2 */
} ingot_eval_window;

typedef struct ingot_eval_result {
    double ppl;      /* exp of the mean nll_second_half */
    double ppl_base; /* kld only: the f16 cache */
    double kld_mean, kld_p99, kld_p999, top1_agreement;
    uint64_t n_tokens; /* scored tokens */
    int n_windows;
    ingot_eval_window *windows; /* [n_windows]; free with ingot_free_memory */
} ingot_eval_result;

/* tokens[n] is the whole tokenized text. Errors: INGOT_E_INVALID when it is shorter than one window (both counts). */
ingot_status ingot_eval_ppl(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config);
ingot_status ingot_eval_kld(ingot_eval_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_eval_config *config);

#ifdef __cplusplus
}
#endif
#endif
