/* Generating an answer: sample, show, feed, until something ends it. Shared by run and chat. */
#ifndef TOOLS_INGOT_ANSWER_H
#define TOOLS_INGOT_ANSWER_H
#include "common/setup.h"
#include "common/text_stream.h"

/* Why an answer ended. */
typedef enum answer_end {
    ANSWER_END,         /* the model ended it */
    ANSWER_LENGTH,      /* -n tokens */
    ANSWER_STOP,        /* a stop string */
    ANSWER_CONTEXT,     /* the cache is full */
    ANSWER_INTERRUPTED, /* Ctrl-C */
    ANSWER_WRITE_FAILED /* nobody takes the text */
} answer_end;
const char *answer_end_name(answer_end end);

typedef struct answer {
    text_stream stream;  /* .text is the whole answer */
    int32_t *tokens;     /* generated, the one that ended the answer not among them */
    int n_tokens, cap;
    int32_t end_token;   /* that ended it; -1 when none did */
    int n_passes;        /* tokens fed */
    double seconds;      /* for the passes, sampling and output */
    answer_end end;
} answer;

/* Generates after the tokens that `session` holds; `logits` are those of the last one. Every token generated but the last one
 * (at most) is in the cache afterwards. With `show`, text goes to stdout as it becomes certain. */
ingot_status answer_generate(answer *a, const setup *u, const settings *s, ingot_sampler *sampler, const float *logits, int n_ctx, bool show);
void answer_free(answer *a);

/* Feeds tokens[n] with a progress line; those already fed stay when Ctrl-C stops it (INGOT_E_CANCELLED). */
ingot_status answer_prefill(setup *u, ingot_sampler *sampler, const int32_t *tokens, int n, const float **logits);
#endif
