/* The contexts of the recall tasks, made from a seed in the tokens of a model. */
#ifndef INGOT_EVAL_RECALL_TASKS_H
#define INGOT_EVAL_RECALL_TASKS_H
#include "filler.h"
#include <ingot/eval.h>

typedef struct recall_answer {
    int first, n; /* tokens of the context; what is scored is their prediction */
    int source;   /* token where the thing that is asked for begins */
    int depth;    /* which of the depths */
} recall_answer;

/* One context: tokens[n_ctx]; answers in the order of the tokens. */
typedef struct recall_sample {
    int32_t *tokens;
    recall_answer *answers;
    int n_answers;
} recall_sample;

typedef struct recall_spec {
    const ingot_recall_config *config;
    int task, depth, sample; /* depth: which one (tasks with one depth a context), else 0 */
    recall_text text;
} recall_spec;

/* Whether a context of the task has one depth; else all of them. */
bool ingot_recall_one_depth(int task);
/* Errors: INGOT_E_INVALID when n_ctx is too small for the task or the text too short. Free with ingot_recall_sample_free. */
ingot_status ingot_recall_sample_make(recall_sample *out, const ingot_model *model, const recall_spec *spec);
void ingot_recall_sample_free(recall_sample *sample);
#endif
